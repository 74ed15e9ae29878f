// Shared by the components: a text in the reader's language, which WORDS holds by its English words.

const say = (text, values = {}) =>
  Object.entries(values).reduce((said, [name, value]) => said.replaceAll(`{${name}}`, value), WORDS[text] ?? text);
