#!/usr/bin/env node
'use strict';

// An allocation workload that resembles a Node service, and what is left in memory when its burst is over.
//
// V8's own heap (objects, strings, small arrays) comes from mmap and not from malloc: no allocator can make it smaller.
// What does come from malloc is the body of every Buffer and ArrayBuffer, and the state of native code (zlib, OpenSSL).
// So this workload makes those. The pattern is that of ../ruby/bench_alloc.rb: BENCH_THREADS worker threads, each with
// an isolate of its own, make BENCH_ITERS Buffers a round (all workers together) over BENCH_ROUNDS rounds; bodies from
// 16 B to 64 kB, half of them below 128 B and a tenth above 13 kB; most live as long as a request (the last 512 of a
// worker), one in eight goes to a cache of 4,000 entries for each worker, where it displaces another at random. One
// object in 256 is compressed by zlib and hashed by OpenSSL, as the answer to a request is. Buffers are made without
// Node's pool: each has a body of its own, as those that come from files, sockets and streams have.
//
// Then the workers drop everything and end, and after BENCH_SLEEP_AFTER seconds the resident memory is read.
//
// Prints one JSON object: time_s (the rounds alone), rss_start_mb, rss_live_mb (before the drop), rss_end_mb,
// rss_delta_mb (end less start), rss_peak_mb and what it ran on.

const crypto = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const v8 = require('node:v8');
const vm = require('node:vm');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const zlib = require('node:zlib');
const allocator = require('./allocator');

const LAST = 512;
const CACHE = 4000;
const CACHED_EVERY = 8;
const ANSWER_EVERY = 256;
const SMALLEST = 16;
const RANGE = 4096;
const SIZES = 8192;

// A setting of the environment; a wrong one ends the program with status 2.
function number(name, preset, least, whole) {
  const text = process.env[name] ?? preset;
  const value = Number(text);
  if (text.trim() === '' || !(value >= least) || (whole && !Number.isSafeInteger(value))) {
    const what = whole ? 'a whole number' : 'a number';
    process.stderr.write(`bench_alloc.js: ${name}=${text} must be ${what} of at least ${least}\n`);
    process.exit(2);
  }
  return value;
}

// Numbers from 0 to 1, the same for the same seed (mulberry32).
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// The part of one worker in one round.
function serve(seed, iterations, cache) {
  const random = generator(seed);
  const sizes = Array.from({ length: SIZES }, () => Math.floor(SMALLEST * RANGE ** (random() ** 2)));
  const last = new Array(LAST);
  for (let turn = 0; turn < iterations; turn += 1) {
    const made = Buffer.allocUnsafeSlow(sizes[turn % SIZES]).fill(turn & 255);
    last[turn % LAST] = made;
    if (turn % CACHED_EVERY === 0) cache[Math.floor(random() * CACHE)] = made;
    if (turn % ANSWER_EVERY === 0) {
      const answer = zlib.deflateSync(made);
      last[turn % LAST] = [answer, crypto.createHash('sha256').update(answer).digest()];
    }
  }
}

function work() {
  let cache = new Array(CACHE);
  parentPort.on('message', ({ seed, iterations }) => {
    if (iterations === undefined) {
      cache = null;
      parentPort.close();
    } else {
      serve(seed, iterations, cache);
      parentPort.postMessage('done');
    }
  });
}

// Gives every worker a message and waits for their answers.
function all(workers, message, event) {
  return Promise.all(workers.map((worker, index) => {
    const answer = once(worker, event);
    worker.postMessage(message(index));
    return answer;
  }));
}

function megabytes(file, field) {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(fs.readFileSync(file, 'ascii'))[1]) / 1024;
}

const rss = () => megabytes('/proc/self/smaps_rollup', 'Rss');
const rounded = (value, digits) => Number(value.toFixed(digits));

async function main() {
  const threads = number('BENCH_THREADS', '4', 1, true);
  const iters = number('BENCH_ITERS', '200000', 1, true);
  const rounds = number('BENCH_ROUNDS', '10', 1, true);
  const sleepBefore = number('BENCH_SLEEP_BEFORE', '0.5', 0, false);
  const sleepAfter = number('BENCH_SLEEP_AFTER', '2', 0, false);
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc');

  collect();
  // Time for a look from outside at the memory after start-up.
  await sleep(sleepBefore * 1000);
  const rssStart = rss();
  const workers = Array.from({ length: threads }, () => new Worker(__filename, { workerData: 'serve' }));
  await Promise.all(workers.map((worker) => once(worker, 'online')));
  const start = process.hrtime.bigint();
  for (let round = 0; round < rounds; round += 1) {
    const share = (index) => Math.floor(iters / threads) + (index < iters % threads ? 1 : 0);
    await all(workers, (index) => ({ seed: round * threads + index, iterations: share(index) }), 'message');
  }
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const rssLive = rss();
  await all(workers, () => ({}), 'exit');
  collect();
  await sleep(sleepAfter * 1000);
  const rssEnd = rss();

  console.log(JSON.stringify({
    time_s: rounded(seconds, 3),
    rss_delta_mb: rounded(rssEnd - rssStart, 2),
    rss_start_mb: rounded(rssStart, 2),
    rss_live_mb: rounded(rssLive, 2),
    rss_end_mb: rounded(rssEnd, 2),
    rss_peak_mb: rounded(megabytes('/proc/self/status', 'VmHWM'), 2),
    allocator: allocator.description(),
    node: process.versions.node,
    threads,
    iters,
    rounds,
    sleep_after_s: sleepAfter,
  }));
}

if (isMainThread) {
  main();
} else if (workerData === 'serve') {
  work();
}
