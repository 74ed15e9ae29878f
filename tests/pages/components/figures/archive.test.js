// A zip of several files: each unchanged, with its checksum.

import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, inflateRawSync } from "node:zlib";

import { zip } from "../../../../pages/components/figures/archive.js";

test("a zip holds its files, each with its checksum, and packed where that is shorter", async () => {
  const files = [["a.txt", Buffer.from("hello")], ["ü.csv", Buffer.from("1,2\n".repeat(100))]];
  const bytes = Buffer.from(await zip(files));
  assert.equal(bytes.readUInt32LE(0), 0x04034b50);
  const end = bytes.length - 22;
  assert.equal(bytes.readUInt32LE(end), 0x06054b50);
  let entry = bytes.readUInt32LE(end + 16);
  assert.equal(bytes.readUInt16LE(end + 10), files.length);
  for (const [name, content] of files) {
    assert.equal(bytes.readUInt32LE(entry), 0x02014b50);
    assert.equal(bytes.readUInt32LE(entry + 16), crc32(content));
    assert.equal(bytes.readUInt32LE(entry + 24), content.length);
    const [length, at] = [bytes.readUInt16LE(entry + 28), bytes.readUInt32LE(entry + 42)];
    assert.equal(bytes.subarray(entry + 46, entry + 46 + length).toString(), name);
    const [start, size] = [at + 30 + bytes.readUInt16LE(at + 26), bytes.readUInt32LE(entry + 20)];
    const [method, packed] = [bytes.readUInt16LE(entry + 10), bytes.subarray(start, start + size)];
    assert.deepEqual(method ? inflateRawSync(packed) : packed, content);
    assert.deepEqual([method, size < content.length], content.length > 100 ? [8, true] : [0, false]);
    entry += 46 + length;
  }
  assert.equal(entry, end);
});
