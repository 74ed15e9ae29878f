// What a temperature and the filters leave of a distribution: the arithmetic, the order and the edges are those of
// next_log_probs in transformer_core/decoding/sampling.py.

export function leave(scores, { temperature, top_k: topK, top_p: topP, min_p: minP }) {
  // scores: logits, the highest first, of equal ones the higher token first. Each filter cuts off the end. Returns
  // which places are left (from `first` to before `end`), the weight of every place and the `total` of those that are
  // left, their entropy in nats, and which share of all probability they `held` before the filters.
  const weights = new Float64Array(scores.length);
  if (temperature === 0) return leaveOne(scores, weights);
  let end = scores.length;
  while (end > 1 && scores[end - 1] === -Infinity) end--;
  let all = 0;
  for (let place = 0; place < end; place++) {
    all += weights[place] = Math.exp((scores[place] - scores[0]) / temperature);
  }
  if (topK > 0 && topK < end) {
    const [n, least] = [end, scores[topK - 1]];
    end = topK;
    while (end < n && scores[end] === least) end++;
  }
  if (topP < 1) end = cutTail(weights, end, 1 - topP);
  while (end > 1 && Math.fround(weights[end - 1]) < Math.fround(minP)) end--; // the first one's weight is 1
  const total = sum(weights, end);
  let mean = 0; // of the scores that are left, from the highest on
  for (let place = 0; place < end; place++) {
    if (weights[place]) mean += (weights[place] / total) * ((scores[place] - scores[0]) / temperature);
  }
  return { first: 0, end, weights, total, entropy: Math.log(total) - mean, held: total / all };
}

function leaveOne(scores, weights) {
  // The lowest token among the most probable ones, which stands last of them.
  let place = 0;
  while (scores[place + 1] === scores[0]) place++;
  weights[place] = 1;
  return { first: place, end: place + 1, weights, total: 1, entropy: 0, held: 1 };
}

function cutTail(weights, end, most) {
  // Takes the least probable away as long as together they hold no more than `most`, as single precision has it.
  const total = sum(weights, end);
  let tail = 0;
  while (end > 1 && Math.fround((tail + weights[end - 1]) / total) <= Math.fround(most)) tail += weights[--end];
  return end;
}

function sum(weights, end) {
  let total = 0;
  for (let place = 0; place < end; place++) total += weights[place];
  return total;
}

export function shareOf({ first, end, weights, total }, place) {
  return place >= first && place < end ? weights[place] / total : 0;
}
