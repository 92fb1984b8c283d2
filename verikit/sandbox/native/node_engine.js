"use strict";
// Starts node once for all cases of a program: `node_fork.c` forks it for each, and the fork runs the program.
// Before that, what the program uses by its text is used once, so that no fork has to load and compile it.
const path = require("path");
const { readFileSync } = require("fs");

const [, , main] = process.argv;
const kept = path.dirname(main);
const addon = { exports: {} };
process.dlopen(addon, path.join(kept, "node_fork.node"));
for (const name of ["LD_PRELOAD", "UV_USE_IO_URING"]) delete process.env[name];

// A clock begins where the program does.
const now = performance.now.bind(performance);
const uptime = process.uptime.bind(process);
let begun = 0;
performance.now = () => now() - begun;
let started = 0;
process.uptime = () => uptime() - started;

function warm() {
  const text = readFileSync(main, "latin1");
  const names = (name) => text.includes(name);
  for (const name of ["assert", "events", "os", "readline", "string_decoder", "util"]) if (names(name)) require(name);
  readFileSync("/dev/null", "utf8").trim().split("\n").map(Number);
  if (names("assert")) require("assert").deepEqual([1, { a: "b" }], [1, { a: "b" }]);
  console.log("%s", 1, "a", [1.5, "b"], { c: new Map([[1, new Set()]]) });
  if (names("error")) console.error("warm");
  setTimeout(() => 0, 0);
  process.nextTick(() => 0);
  if (!names("readline")) return void setTimeout(() => setImmediate(begin), 0); // no timer of ours is left then
  const input = new (require("stream").PassThrough)();
  const lines = require("readline").createInterface({ input });
  lines.on("line", (line) => line.split(" "));
  lines.on("close", () => setImmediate(begin));
  input.end("1 2\n3\n");
}

function begin() {
  const pid = addon.exports(kept);
  Object.defineProperty(process, "pid", { value: pid, enumerable: true, configurable: true, writable: false });
  process.argv.splice(1, 2, main);
  begun = now();
  started = uptime();
  require("module").runMain(main);
}

warm();
