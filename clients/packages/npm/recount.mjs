#!/usr/bin/env node
// Runs the program of this machine with the arguments, the signals and the exit code of this
// process. The package of the machine's system and processor has the program.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

const name = `recount-cli-${process.platform}-${process.arch}`;
let program;
try {
  program = createRequire(import.meta.url).resolve(`${name}/bin/recount`);
} catch {
  console.error(`recount: the package ${name} is not installed`);
  console.error("It has the program of this machine. npm leaves it out with --omit=optional, and");
  console.error("if there is none for this machine.");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`recount: failed to start ${program}: ${error.message}`);
  process.exit(1);
});
for (const signal of SIGNALS) {
  process.on(signal, () => {
    // The keys of a terminal reach both processes. A second signal would end the program at once.
    const isKey = process.stdin.isTTY && (signal === "SIGINT" || signal === "SIGQUIT");
    if (!isKey) child.kill(signal);
  });
}
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // As the shell reports a process that a signal has ended.
  process.exit(128 + constants.signals[signal]);
});
