// Reference for moralscope's use-lite encoder: token ids and vectors as TF.js computes them.
//
// Run in a folder outside the repository (Node 20):
//   npm install @tensorflow/tfjs@4.22.0 @tensorflow-models/universal-sentence-encoder@1.3.3
//   cp PATH/TO/tests/golden/use_lite_vectors.mjs .
//   node use_lite_vectors.mjs WEIGHTS_FOLDER OUTPUT_FOLDER
// WEIGHTS_FOLDER holds model.json, group1-shard1of7 ... 7of7 and vocab.json. It writes
// use_lite_vectors.json (texts and ids) and use_lite_vectors.safetensors (one row per text).

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs";
import tokenizerModule from "@tensorflow-models/universal-sentence-encoder/dist/tokenizer/index.js";

const TEXTS = [
  // Questions and answers of the moral-choice kind.
  "Should I kill time?",
  "Should I kill people?",
  "Is it okay to torture a cat?",
  "Is it good to greet my friends?",
  "Do I have to lie to my parents?",
  "Yes, it is.",
  "No, it is not.",
  "Yes, I should.",
  "No, I shouldn't!",
  "I don't know.",
  // White space and single characters.
  "",
  " ",
  "   ",
  "a",
  "A",
  "?",
  "\u2581",
  "7",
  "\u00a0",
  "\u3000wide space",
  "two  spaces",
  " leading and trailing ",
  "tab\tbetween\twords",
  "line\nbreak\r\nand\n\nanother",
  "\n",
  "zero\u200bwidth\u200dspace",
  "null\u0000byte and \u001b escape",
  // Case, numbers, punctuation; pieces with a colon have no proper score in the vocabulary.
  "STEALING IS WRONG",
  "sTEALing is WRong",
  "1,234,567.89 euros on 2024-02-29",
  "3.14159265358979 and 1e-10",
  "Wait... what?! (Really -- no; \"never\".)",
  "''''' \"\"\"\"\" ,,,,, .....",
  "snake_case, camelCase, kebab-case & C++/C#",
  "https://example.org/path?query=1&other=two#part",
  "mail someone@example.com at 10:30 or 11:00",
  ":",
  "::::",
  ":30:30:00",
  "Note: the answer is this: no :-) :( :)",
  "a:b",
  "<s> </s> extra_token_id_1 \ufffd",
  "supercalifragilisticexpialidocious antidisestablishmentarianism",
  "qzxjkvwq xqjzkw",
  // Unicode: composed, decomposed, compatibility forms.
  "caf\u00e9 na\u00efve r\u00e9sum\u00e9",
  "cafe\u0301 nai\u0308ve re\u0301sume\u0301",
  "q\u0307\u0323 and q\u0323\u0307 with stacked marks",
  "\ufb01ne \ufb03x: ligatures, \u2460 \u00bd \u2122 \u212b",
  "\uff26\uff35\uff2c\uff2c\uff37\uff29\uff24\uff34\uff28 \uff54\uff45\uff58\uff54",
  "\u201ccurly\u201d \u2018quotes\u2019 \u2013 dashes \u2014 and ellipsis\u2026 \u201d5",
  "\ud835\udcd7\ud835\udcee\ud835\udcf5\ud835\udcf5\ud835\udcf8 in mathematical script",
  // Other languages and scripts.
  "Soll ich meine Großmutter über die Straße führen?",
  "Darf man lügen, um jemanden zu schützen?",
  "¿Debería robar pan para mi familia?",
  "Est-il acceptable de mentir à ses amis ?",
  "Можно ли лгать друзьям?",
  "我应该帮助别人吗？",
  "嘘をついてもいいですか。",
  "친구를 도와야 할까요?",
  "هل يجب أن أكذب؟",
  "האם מותר לגנוב?",
  "क्या मुझे झूठ बोलना चाहिए?",
  "mixed текст 文字 words كلمة end",
  // Emoji: plain, skin tone, joined families, flags, key caps.
  "I love you \ud83d\ude00",
  "\ud83d\udc4d\ud83c\udffd ok",
  "family \ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67\u200d\ud83d\udc66 time",
  "\ud83c\udde9\ud83c\uddea\ud83c\uddeb\ud83c\uddf7",
  "press 1\ufe0f\u20e3 \u2764\ufe0f now",
  // Long texts; the graph reads 128 pieces, and some have more.
  "If a neighbour whom I hardly know asks me to water her plants for three weeks in the hottest " +
    "month of the year, and I have already promised my brother to look after his dog, should I " +
    "say yes to both, to one of them, or to neither?",
  "It is wrong to break a promise. ".repeat(16).trim(),
  ("My grandfather kept bees behind the house, and every summer he told us that a hive survives " +
    "because no bee asks what it gets in return. I believed him for years; then I read that drones " +
    "are thrown out before winter, 100% of them, without mercy. ").repeat(8).trim(),
  "word ".repeat(127) + "word",
  "word ".repeat(128) + "tail",
];

const [folder, output] = process.argv.slice(2);
const read = (name) => readFileSync(join(folder, name));
const manifest = JSON.parse(read("model.json"));
const shards = manifest.weightsManifest.flatMap((group) => group.paths).map(read);
const weights = new Uint8Array(Buffer.concat(shards));
const model = await tf.loadGraphModel(
  tf.io.fromMemory({
    modelTopology: manifest.modelTopology,
    weightSpecs: manifest.weightsManifest.flatMap((group) => group.weights),
    weightData: weights.buffer,
  }),
);
const tokenizer = new tokenizerModule.Tokenizer(JSON.parse(read("vocab.json")));

// One text at a time: the graph gives no row to empty texts at the end of a batch.
const ids = TEXTS.map((text) => tokenizer.encode(text));
const rows = [];
for (const pieces of ids) {
  const indices = pieces.map((_, position) => [0, position]);
  const result = await model.executeAsync({
    indices: tf.tensor2d(indices, [indices.length, 2], "int32"),
    values: tf.tensor1d(pieces, "int32"),
  });
  rows.push(await result.data());
}

const data = Buffer.concat(rows.map((row) => Buffer.from(row.buffer)));
const entry = { dtype: "F32", shape: [rows.length, 512], data_offsets: [0, data.length] };
const header = Buffer.from(JSON.stringify({ vectors: entry }).padEnd(88)); // a multiple of 8
const size = Buffer.alloc(8);
size.writeBigUInt64LE(BigInt(header.length));
writeFileSync(join(output, "use_lite_vectors.safetensors"), Buffer.concat([size, header, data]));
const lines = TEXTS.map((text, i) => `  ${JSON.stringify({ text, ids: ids[i] })}`);
writeFileSync(join(output, "use_lite_vectors.json"), `[\n${lines.join(",\n")}\n]\n`);
