// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What the pages have in common: reading metrics, writing numbers, drawing, tables.

'use strict';

const ANSWER_MS = 5000;  // an answer that takes longer counts as none
const KEEP_S = 120;      // length of the plots
const FIRST_BUCKET_S = 1e-4;  // histograms of durations do not tell shorter times apart,
const LAST_BUCKET_S = 100;    // nor longer ones

// ---------------------------------------------------------------- reading

// Prometheus' text format as a map from a name to its series.
function parseMetrics(text) {
  const families = new Map();
  for (const line of text.split('\n')) {
    const parts = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (parts === null) continue;
    const labels = {};
    for (const label of (parts[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[label[1]] = label[2].replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
    }
    if (!families.has(parts[1])) families.set(parts[1], []);
    families.get(parts[1]).push({ labels, value: Number(parts[3].replace('Inf', 'Infinity')) });
  }
  return families;
}

function select(sample, name, labels = {}) {
  const wanted = Object.entries(labels);
  return (sample.families.get(name) || []).filter((each) => wanted.every(([key, value]) => each.labels[key] === value));
}

// The sum of the series, undefined where there is none.
function total(sample, name, labels) {
  const series = select(sample, name, labels);
  return series.length === 0 ? undefined : series.reduce((sum, each) => sum + each.value, 0);
}

// Returns the growth between two samples; undefined where the counter is new or absent.
function added(older, newer, name, labels) {
  const from = total(older, name, labels);
  const to = total(newer, name, labels);
  return from === undefined || to === undefined ? undefined : to - from;
}

function rate(older, newer, name, labels) {
  const count = added(older, newer, name, labels);
  return count === undefined || newer.time === older.time ? undefined : count / (newer.time - older.time);
}

function mean(older, newer, name, labels) {
  const count = added(older, newer, name + '_count', labels);
  return count ? added(older, newer, name + '_sum', labels) / count : undefined;
}

// Does what Prometheus' histogram_quantile() does: it is linear inside a bucket.
function quantile(q, older, newer, name, labels) {
  const counts = new Map();
  const add = (sample, sign) => {
    for (const { labels: { le }, value } of select(sample, name + '_bucket', labels)) {
      const bound = Number(le.replace('Inf', 'Infinity'));
      counts.set(bound, (counts.get(bound) || 0) + sign * value);
    }
  };
  add(newer, 1);
  add(older, -1);
  const bounds = [...counts.keys()].sort((a, b) => a - b);
  const all = counts.get(Infinity) || 0;
  if (all <= 0) return undefined;
  let lower = 0;
  let below = 0;
  for (const bound of bounds) {
    const count = counts.get(bound);
    if (count >= q * all) {
      return bound === Infinity ? lower : lower + (bound - lower) * (q * all - below) / (count - below);
    }
    lower = bound;
    below = count;
  }
  return lower;
}

// ---------------------------------------------------------------- writing numbers

function digits(value) {
  if (value === 0) return '0';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-GB');
  return String(Number(value.toPrecision(3)));
}

// `steps`: [factor, unit], the smallest first. Returns number and unit.
function scaled(value, steps) {
  if (value === undefined) return ['–', ''];
  let chosen = steps[0];
  for (const step of steps) if (Math.abs(value) * 1.0005 >= step[0]) chosen = step;  // 999.9 µs are written as 1 ms
  return [digits(value / chosen[0]), chosen[1]];
}

const asSeconds = (value) => scaled(value, [[1e-6, 'µs'], [1e-3, 'ms'], [1, 's']]);
// A quantile of a histogram of durations.
function asDuration(value) {
  if (value < FIRST_BUCKET_S) return ['< 100', 'µs'];
  return value >= LAST_BUCKET_S ? ['≥ 100', 's'] : asSeconds(value);
}
const asJoules = (value) => scaled(value, [[1e-6, 'µJ'], [1e-3, 'mJ'], [1, 'J']]);
const asBytes = (value) => scaled(value, [[1, 'B'], [1024, 'KiB'], [1024 ** 2, 'MiB'], [1024 ** 3, 'GiB']]);
const asHertz = (value) => scaled(value, [[1e6, 'MHz'], [1e9, 'GHz']]);
const asPercent = (value) => scaled(value === undefined ? undefined : 100 * value, [[1, '%']]);
const asNumber = (unit) => (value) => scaled(value, [[1, unit]]);
const inWords = ([number, unit]) => (unit === '' ? number : `${number} ${unit}`);

function asAge(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  return `${Math.floor(seconds / 86400)} days`;
}

// ---------------------------------------------------------------- drawing

function make(name, attributes = {}, ...children) {
  const svg = ['svg', 'path', 'line', 'text'].includes(name);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// 1, 2 or 5 times a power of ten of the unit, and not below `value`.
function roundUp(value, write) {
  if (!(value > 0)) return 1;
  const unit = write === asBytes ? 1024 ** Math.floor(Math.log2(value) / 10) : 1;
  const power = 10 ** Math.floor(Math.log10(value / unit)) * unit;
  return [1, 2, 5, 10].find((step) => step * power >= value * 0.999999) * power;
}

// The line of the numbers `points[..][key]`, broken where one is missing.
function linePath(points, key, x, y) {
  let path = '';
  let pen = 'M';
  for (const point of points) {
    if (point[key] === undefined) {
      pen = 'M';
    } else {
      path += `${pen}${x(point.time).toFixed(1)} ${y(point[key]).toFixed(1)}`;
      pen = 'L';
    }
  }
  return path;
}

function highest(points, keys) {
  return Math.max(0, ...points.flatMap((point) => keys.map((key) => point[key] ?? 0)));
}

// `lines`: [{key, name, write}], at most two.
function drawPlot(svg, points, lines, now, label) {
  const width = svg.clientWidth || 300;
  const height = svg.clientHeight || 120;
  const [left, right, top, bottom] = [4, 4, 16, 16];
  const limit = lines[0].write === asPercent ? 1 : roundUp(highest(points, lines.map((line) => line.key)), lines[0].write);
  const x = (time) => left + (width - left - right) * (1 - (now - time) / KEEP_S);
  const y = (value) => top + (height - top - bottom) * (1 - value / limit);
  const parts = [0, 0.5, 1].map((share) =>
    make('line', { class: 'grid', x1: left, x2: width - right, y1: y(share * limit), y2: y(share * limit) }));
  parts.push(make('text', { class: 'tick', x: left, y: top - 4 }, inWords(lines[0].write(limit))));
  parts.push(make('text', { class: 'tick', x: left, y: height - 3 }, '2 min ago'));
  parts.push(make('text', { class: 'tick', x: width - right, y: height - 3, 'text-anchor': 'end' }, 'now'));
  lines.forEach(({ key }, i) => parts.push(make('path', { class: `line ${i === 0 ? 'first' : 'second'}`, d: linePath(points, key, x, y) })));
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('aria-label', label);
  svg.replaceChildren(...parts);
}

// Makes the rows of a table body equal to `fresh`, by their data-key. What did not change stays in the page, and with it
// the keyboard's focus.
function replaceRows(body, fresh) {
  const focused = document.activeElement;
  const old = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  const rows = fresh.map((row) => {
    const same = old.get(row.dataset.key);
    if (same === undefined || same.cells.length !== row.cells.length) return row;
    same.className = row.className;
    [...row.cells].forEach((cell, i) => {
      if (!same.cells[i].isEqualNode(cell)) same.cells[i].replaceWith(cell);
    });
    return same;
  });
  rows.forEach((row, i) => {
    if (body.rows[i] !== row) body.insertBefore(row, body.rows[i] ?? null);
  });
  while (body.rows.length > rows.length) body.lastElementChild.remove();
  // A row that was moved has lost it.
  if (body.contains(focused) && document.activeElement !== focused) focused.focus({ preventScroll: true });
}

// Fills a table with rows: {key, cells, attributes}. A cell is a text, an element or [text or element, attributes].
function fillTable(id, rows) {
  const heads = document.querySelectorAll(`#${id} thead th`);
  replaceRows(document.querySelector(`#${id} tbody`), rows.map(({ key, cells, attributes = {} }) => {
    const row = make('tr', { 'data-key': key, ...attributes });
    cells.forEach((cell, i) => {
      const [content, more] = Array.isArray(cell) ? cell : [cell, {}];
      const own = i === 0 ? make('th', { scope: 'row', ...more }) : make('td', more);
      own.className = `${heads[i].className} ${own.className}`.trim();
      if (i > 0) own.dataset.label = heads[i].textContent;
      own.append(content);
      row.append(own);
    });
    return row;
  }));
}

// ---------------------------------------------------------------- asking the server

function get(path) {
  return fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(ANSWER_MS) });
}
