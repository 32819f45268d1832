// Two async functions that wake each other, or two threads that send each other messages: a number goes there, its
// complement comes back. Usage: handover.js promises|messages BLOCKS NANOSECONDS; prints a line of JSON for each block.
'use strict';
const { MessageChannel, Worker, isMainThread, workerData } = require('node:worker_threads');

// After so long the compiler has done what it will.
const WARM = 1e9;
const now = () => Number(process.hrtime.bigint());
const wrong = () => new Error('what came back is not the answer to what was sent');

class Slot {
  value = undefined;
  waiting = undefined;
  put(value) {
    const waiting = this.waiting;
    if (waiting === undefined) {
      this.value = value;
    } else {
      this.waiting = undefined;
      waiting(value);
    }
  }
  take() {
    const value = this.value;
    if (value !== undefined) {
      this.value = undefined;
      return Promise.resolve(value);
    }
    return new Promise((resolve) => { this.waiting = resolve; });
  }
}

async function promises(n) {
  const there = new Slot();
  const back = new Slot();
  (async () => {
    for (let i = 0; i < n; i++) back.put(~await there.take());
  })();
  const began = now();
  for (let i = 0; i < n; i++) {
    there.put(i);
    if (await back.take() !== ~i) throw wrong();
  }
  return now() - began;
}

function messages(port) {
  return (n) => new Promise((resolve, reject) => {
    const began = now();
    let i = 0;
    port.on('message', function answer(number) {
      if (number !== ~i) reject(wrong());
      i += 1;
      if (i < n) {
        port.postMessage(i);
      } else {
        port.off('message', answer);
        resolve(now() - began);
      }
    });
    port.postMessage(0);
  });
}

async function main() {
  const [kind, blocks, target] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
  let rounds = promises;
  if (kind === 'messages') {
    const { port1, port2 } = new MessageChannel();
    new Worker(__filename, { workerData: port2, transferList: [port2] });
    rounds = messages(port1);
  }
  let n = 1000;
  const until = now() + WARM;
  for (;;) {
    const took = await rounds(n);
    if (took > target / 2) {
      n = Math.max(Math.floor(n * target / took), 1);
      if (now() > until) break;
    } else {
      n *= 2;
    }
  }
  for (let block = 0; block < blocks; block++) {
    const each = await rounds(n) / (2 * n);
    process.stdout.write(`{"ns":${each},"handovers":${2 * n}}\n`);
  }
  // The other thread would listen for ever.
  process.stdout.write('', () => process.exit(0));
}

if (isMainThread) {
  main();
} else {
  workerData.on('message', (number) => workerData.postMessage(~number));
}
