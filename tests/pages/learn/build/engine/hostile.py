"""Programs that try to get out of the learner's language, or to take more than their share; the same for a seed."""

import random
from collections.abc import Callable, Iterator

from pages.learn.build.engine.one_head import AttentionVariant
from pages.learn.build.engine.steps import steps_of

VARIABLES = ("x", "q", "k", "v", "Z", "mask", "scores", "W_Q", "d_k", "n_heads", "rotate")
BASES = (*VARIABLES, *"() [] '' b'' (1) 1.0 None True ... softmax float torch np F".split())
ATTRIBUTES = (
    "__class__ __bases__ __mro__ __subclasses__ __globals__ __builtins__ __dict__ __init__ __code__ __getattribute__ "
    "__array_interface__ __array_struct__ __reduce__ __module__ __closure__ __self__ __func__ __wrapped__ ctypes data "
    "base flags tofile dump tobytes setflags setfield resize fill put itemset view byteswap strides dtype real flat "
    "item tolist load save memmap fromfile lib os sys nn functional serialization hub compile jit ops utils values "
    "shape T mT cpu numpy requires_grad grad_fn backward storage apply_ map_ register_hook format encode join"
).split()
CALLED = (
    "open exec eval compile __import__ getattr setattr delattr vars dir globals locals input print breakpoint exit "
    "help type object super memoryview bytearray bytes str repr id hash iter next map filter zip range sorted "
    "isinstance property staticmethod callable chr format hasattr slice set dict list tuple float int complex budget"
).split()
ARGUMENTS = "'/etc/passwd'|'os'|q|q, '__class__'|1|'1+1', {}|*q|**q|lambda: 1||-1|10**12".split("|")
WHOLE = (
    "import os|from os import system|q; import os|def f(): pass|class A: pass|@q|with q: pass|while 1: pass|"
    "for i in q: pass|try: q|del q|global q|return q|yield q|await q|raise q|assert q|q += k|q: int = k|q = k = v|"
    "q, k = v|q.T = k|q[0] = k|*q, = k|match q:|if q: k|\\|q\\\nk|q\nk|#|f'{open(1)}'|b'q'|'q'|'q'*10**9|'%s' % q|"
    "'{}'.format(q)|'''q'''|q if k else v|q and k|not q|q is k|q in k|lambda q: q|(lambda: q)()|[i for i in q]|"
    "{i: i for i in q}|(i for i in q)|(q := k)|{q}|{**q}|[*q]|q % k|q << k|q & k|q < k < v|1j|q @ 1j|q[k]|q[mask]|"
    "q[[0]]|q['a']|q[0:10**20]|q[::0]|q[()]|q[...,...]|q[None,None,None,None,None]|()|[]|[[]]|(q,)|[q, [k]]|"
    "concat([])|concat(q, k)|concat([q, [k]])|concat([q, 1])|where(q, k, v)|where(mask, [q], k)|float('nan')|"
    "float('1e999')|float(q)|float('inf', 1)|max(q, k)|sum(sum)|softmax(softmax)|rotate()|rotate(q, k)|rotate(Z)|"
    "rotate(rotate)|rotate|q.rotate(k)|q.softmax|q.sum.T|q.T()|q.shape[9]|q.shape.T|q.shape * 9|q.shape + (1,)|torch|"
    "torch.load('a')|np.load('a')|np.lib.format|torch.hub.load('a', 'b')|math.os|F.os|torch.torch.inf|np.np|"
    "torch.inf.T|inf.real|inf()|(0).T|d_k.T|d_k.sum()|einsum('a,a->a', q)|einsum(q, q)|"
    "einsum('ab,ab,ab,ab,ab->a', q, q, q, q, q)|einsum('...->...', q)|einsum('ab->ab', q, q)|einsum('ab->c', q)|"
    "einsum('aa->a', q)|einsum('ab,cd->abcd', Z, Z)|q.reshape(-1, -1)|q.reshape(0)|q.reshape(-2)|"
    "q.reshape(2**62, 2**62)|q.flatten(5)|q.flatten(1, 0)|q.unsqueeze(9)|q.size(9)|q.transpose(0)|q.permute((0, 1), 1)|"
    "q.sum(dim=9)|q.sum(dim=(0, 0))|q.sum(dim=q)|q.sum(keepdim=q)|q.max(dim=(0, (1,)))|q.sum(budget=1)|softmax(q)|"
    "softmax(q, dim=None)|softmax(dim=0)|q[0:0].max()|q[0:0].softmax(-1)|q[0:0] @ q[0:0].T|q[0:0].mean()|~q|~d_k|-mask|"
    "mask ** 2|q ** q|2 ** q|True + True|None + 1|... + 1|q + None|q + 'a'|1 < 'a'|(1, 2) < (3, 4)|None == None|"
    f"{'9' * 309} * q|q.reshape({'9' * 309})|q[{'9' * 309}]|d_k ** 64|{2**53} ** 64|2 ** -1 * q|"
    "x[0:0].reshape(0,9007199254740992,9007199254740992)|x[0:0].reshape(0, 4000000, 4000000, 4000000)|"
    "concat((x.reshape(-1, 1) * x.reshape(1, -1) + 0 * q[:1, :1]).reshape(-1, 1))|k.t(1)|Z.t()|q.mm(Z)|np.dot(Z, Z)|"
    "q.logical_not()|torch.dot(q, 1)|q.max(1)[0][0][0]|max(1, 2)[0]|max(q, q)[0]|q.max((0, 1))[0]"
).split("|")


def attribute_walk(rng: random.Random) -> str:
    chain = "".join(
        f".{rng.choice(ATTRIBUTES)}" + rng.choice(("", "", "()", "[0]", f"({rng.choice(ARGUMENTS)})"))
        for _ in range(rng.randint(1, 5))
    )
    return rng.choice(BASES) + chain


def power(rng: random.Random) -> str:
    sign, n = rng.choice(("**", "**", "*", "//", "@")), rng.randint(2, 12)
    return sign.join(rng.choice(("9", "10**9", "q", "d_k", "-1", "0.5", "1e300", "(-1)", "9" * 50)) for _ in range(n))


def giant(rng: random.Random) -> str:
    n = 10 ** rng.randint(3, 20)
    outer = "q.reshape(-1, 1) @ q.reshape(1, -1)"
    return rng.choice(
        (
            *(f"q * {n}", f"[q] * {n}", f"q.reshape({n}, -1)", f"q[None] * {n}", f"q.view({n}, {n})", outer),
            f"concat([{', '.join(['Z'] * rng.randint(2, 60))}])",
            " * ".join(f"q.reshape({'1, ' * i}-1{', 1' * (5 - i)})" for i in range(6)),
            f"{'(' * 4}{outer}" + f").reshape(-1, 1) @ {outer[15:]}" * 4,
            f"einsum('ab,cd,ef->abcdef'{', x' * 3})",
            f"einsum('{'a,' * 40}a->a'{', q[0]' * 41})",
            "exp(exp(exp(exp(q * 1e300))))",
            " + ".join(["(x.reshape(-1, 1) * x.reshape(1, -1))"] * rng.randint(2, 9)),
        )
    )


def nested(rng: random.Random) -> str:
    n = rng.choice((5, 20, 30, 90, 190, 250, 3000, 20_000))
    before, _, after = rng.choice(("( )", "[ ]", "- ", "~ ", "sqrt( )", "q[ ]", " .T", "q@( )")).partition(" ")
    return before * n + rng.choice(("q", "0", "")) + after * n


def long(rng: random.Random) -> str:
    part = rng.choice(("q + ", "q, ", "q @ ", "1 + ", "- ", "x", "q.T ", "#", " ", "0", "'", "softmax(q, dim=0) + "))
    return part * rng.choice((10, 40, 400, 5000)) + "q"


def look_alike(rng: random.Random) -> str:
    letters = "ｑ𝑞ԛ𝐪k𝗄к＿‿＠․．（）＋\u200b\u202e\u00a0\u2028\ufeff\0\x0c\x1b\\{}$`?;&|^%"
    line = [*rng.choice(SOLUTIONS)]
    for _ in range(rng.randint(1, 3)):
        line.insert(rng.randrange(len(line) + 1), rng.choice(letters))
    return "".join(line)


def keywords(rng: random.Random) -> str:
    names = "dim axis keepdim keepdims out dtype where budget input self initial like".split()
    values = ("-1", "q", "True", "None", "10**9")
    given = ", ".join(f"{rng.choice(names)}={rng.choice(values)}" for _ in range(rng.choice((1, 2, 3, 12))))
    return f"{rng.choice(('q.sum(', 'softmax(q, ', 'q.max(', 'q.reshape(', 'where(mask, q, k, ', 'rotate('))}{given})"


def mutated(rng: random.Random) -> str:
    """A right line with something deleted, inserted, doubled, or replaced by a part of another line."""
    line = rng.choice(SOLUTIONS)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(line) + 1)
        end = start + rng.choice((0, 1, 1, 2, 5, 12))
        cut = rng.randrange(len(other := rng.choice(SOLUTIONS)))
        punctuation = rng.choice("()[].,@*/-~0123456789:=_ ")
        line = line[:start] + rng.choice(("", line[start:end] * 2, other[cut : cut + 8], punctuation)) + line[end:]
    return line


SOLUTIONS = [
    line
    for variant in (AttentionVariant(), AttentionVariant(is_cross=True, is_rotated=True, has_bias=True))
    for step in steps_of(variant)
    for line in (step.line, step.solution, *(line for line, _ in step.mistakes if line))
]
KINDS: tuple[Callable[[random.Random], str], ...] = (
    *(attribute_walk, power, giant, nested, long, look_alike, keywords, mutated, mutated, mutated),
    lambda rng: f"{rng.choice(('', 'torch.', 'np.', 'q.', 'F.'))}{rng.choice(CALLED)}({rng.choice(ARGUMENTS)})",
    lambda rng: rng.choice(WHOLE),
)


def hostile(n: int, seed: int) -> Iterator[str]:
    """Yield `n` different programs: each of `WHOLE`, then others in turn; some of them as an assignment."""
    rng, seen = random.Random(seed), dict.fromkeys(WHOLE)
    while len(seen) < n:
        line = KINDS[rng.randrange(len(KINDS))](rng)
        seen[line if rng.random() < 0.8 else f"q = {line}"] = None
    yield from seen
