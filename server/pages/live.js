// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The live page. It reads /metrics, the same page that Prometheus reads, and /streams.json once a second, and what was before
// it was opened from /history.json. Nothing comes from another server.

'use strict';

const PERIOD_MS = 1000;
const WINDOW_S = 10;     // quantiles and means are taken over so long
const RATE_S = 3;        // rates are taken over so long
const GAP_S = 6;         // the server is asked for what was missed in a longer gap
const LONG_WAIT_S = 0.1;  // frames that wait longer are told at the top: no answer is within the usual latency budget then

// ---------------------------------------------------------------- what is shown

const cards = [
  { plot: 'rate', lines: [{ key: 'received', name: 'arrive', write: asNumber('/s') }, { key: 'bad', name: 'end in an error', write: asNumber('/s') }],
    missing: 'No frames so far.' },
  { plot: 'latency', lines: [{ key: 'median', name: 'median', write: asDuration }, { key: 'high', name: '99 %', write: asDuration }],
    missing: 'No frame in the last two minutes.' },
  { plot: 'queue', lines: [{ key: 'frames', name: 'frames wait', write: asNumber('') }], missing: 'None so far.' },
  { plot: 'batch', lines: [{ key: 'mean', name: 'frames a batch', write: asNumber('') }], missing: 'No batch in the last two minutes.' },
  { plot: 'busy', lines: [{ key: 'share', name: 'busiest device', write: asPercent }, { key: 'processors', name: 'processors', write: asPercent }], missing: 'None so far.' },
  { plot: 'power', lines: [{ key: 'watts', name: 'now', write: asNumber('W') }],
    missing: 'Not measured: this machine has no power sensor that the server can read. The log says why (event=power_unreadable).' },
  { plot: 'energy', lines: [{ key: 'own', name: 'its own share', write: asJoules }, { key: 'whole', name: 'with the rest', write: asJoules }],
    missing: 'Not measured, or no frame in the last two minutes.' },
  { plot: 'memory', lines: [{ key: 'bytes', name: 'resident', write: asBytes }], missing: 'None so far.' },
];

const FRAME = 'orbserve_frame_duration_seconds';
const STAGE = 'orbserve_stage_duration_seconds';
const STAGE_ORDER = ['admit', 'decode_queue', 'decode', 'queue', 'upload', 'pyramid', 'detect', 'suppress', 'select', 'orient', 'describe', 'compute', 'download',
  'track_queue', 'track', 'match_queue', 'match', 'encode', 'send'];
// The stages in which a frame waits, and what for.
const WAITS = {
  admit: 'for a place in flight',
  decode_queue: 'for decoding',
  queue: 'for computing',
  track_queue: 'for tracking',
  match_queue: 'for matching',
  send: 'for the results before them',
};

// [name of the gauge, how it is called, how it is written]
const RESOURCES = [
  ['queue_frames', 'Frame queue', asNumber('')],
  ['queue_bytes', 'Frame queue (bytes)', asBytes],
  ['match_queue_requests', 'Match queue', asNumber('')],
  ['track_queue_requests', 'Track queue', asNumber('')],
  ['decode_busy_threads', 'Decode threads', asNumber('')],
  ['streams', 'Streams', asNumber('')],
  ['connections', 'Connections', asNumber('')],
  ['stream_response_bytes', 'Stream answers', asBytes],
  ['call_response_bytes', 'Call answers', asBytes],
  ['reference_bytes', 'References', asBytes],
  ['plan_bytes', 'Plans', asBytes],
];

const NOT_READY = {
  draining: 'the server is about to stop',
  device_lost: 'a device was lost',
  device_stalled: 'a device does not answer at the moment',
  self_check: 'calls of the server to its own address are not answered',
};

let samples = [];           // {time, families, streams}, the oldest first
let stagePoints = new Map();  // 'stage device' -> points
let lostSince = null;       // Date of the first answer that failed
let restarted = null;       // Date at which a new process was met
let watched = null;         // {id, client} of the stream whose picture is shown

// The last sample that is at least so old, or the oldest.
function before(seconds) {
  const newest = samples[samples.length - 1];
  for (let i = samples.length - 2; i >= 0; --i) {
    if (newest.time - samples[i].time >= seconds - 0.2) return samples[i];
  }
  return samples[0];
}

// The time of a batch counts when it ends, so a long one may tell more than the whole.
function busyShare(older, newer, device) {
  const share = rate(older, newer, 'orbserve_device_busy_seconds_total', { device });
  return share === undefined ? undefined : Math.min(1, share);
}

function takePoints(now) {
  const recent = before(RATE_S);
  const older = before(WINDOW_S);
  const received = rate(recent, now, 'orbserve_frames_received_total');
  const ended = rate(recent, now, 'orbserve_frames_total');
  const ok = rate(recent, now, 'orbserve_frames_total', { outcome: 'ok' });
  const devices = [...new Set(select(now, 'orbserve_device_busy_seconds_total').map((each) => each.labels.device))];
  const busy = devices.map((device) => busyShare(recent, now, device)).filter((share) => share !== undefined);
  const cpu = rate(recent, now, 'process_cpu_seconds_total');
  const joules = added(older, now, 'orbserve_energy_joules_total', { scope: 'total' });
  const frames = added(older, now, 'orbserve_frames_total', { outcome: 'ok' });
  const values = {
    rate: { received, bad: ended === undefined ? undefined : Math.max(0, ended - ok) },
    latency: { median: quantile(0.5, older, now, FRAME), high: quantile(0.99, older, now, FRAME) },
    queue: { frames: total(now, 'orbserve_queue_frames') },
    batch: { mean: mean(older, now, 'orbserve_batch_size_frames') },
    busy: { share: busy.length === 0 ? undefined : Math.max(...busy),
      processors: cpu === undefined ? undefined : cpu / total(now, 'orbserve_limit_processors') },
    power: { watts: total(now, 'orbserve_power_watts', { scope: 'total' }) },
    energy: { own: mean(older, now, 'orbserve_frame_energy_joules'), whole: frames ? joules / frames : undefined },
    memory: { bytes: total(now, 'process_resident_memory_bytes') },
  };
  if (Number.isNaN(values.energy.whole)) values.energy.whole = undefined;
  for (const card of cards) {
    card.points = (card.points || []).filter((point) => now.time - point.time <= KEEP_S);
    card.points.push({ time: now.time, ...values[card.plot] });
  }
  const stages = new Map();
  for (const { labels } of select(now, STAGE + '_count')) {
    const key = `${labels.stage} ${labels.device}`;
    const points = (stagePoints.get(key) || []).filter((point) => now.time - point.time <= KEEP_S);
    points.push({ time: now.time, mean: mean(recent, now, STAGE, labels) });
    stages.set(key, points);
  }
  stagePoints = stages;
}

// A card: the numbers of this moment over the lines of the last two minutes; hidden where there are none.
// `card`: {plot, lines, missing, text}: why there may be no numbers, and a further text.
function drawCard(card, now) {
  const article = document.querySelector(`[data-plot="${card.plot}"]`);
  const points = card.points;
  card.is_empty = !points.some((point) => card.lines.some(({ key }) => point[key] !== undefined));
  article.hidden = card.is_empty;
  if (card.is_empty) return;
  if (card.values === undefined) {
    card.values = article.appendChild(make('ul', { class: 'values' }));
    card.more = article.appendChild(make('p', { class: 'more' }));
    card.svg = article.appendChild(make('svg', { class: 'plot', role: 'img' }));
  }
  const last = points[points.length - 1];
  card.more.hidden = !card.text;
  card.more.textContent = card.text || '';
  card.values.replaceChildren(...card.lines.map(({ key, name, write }, i) => {
    const [number, unit] = write(last[key]);
    const swatch = make('svg', { viewBox: '0 0 28 8', 'aria-hidden': 'true' },
      make('path', { class: `line ${i === 0 ? 'first' : 'second'}`, d: 'M0 4H28' }));
    return make('li', {}, make('b', { 'data-value': `${card.plot}-${key}` }, number), make('span', { class: 'unit' }, unit),
      make('span', { class: 'name' }, swatch, ` ${name}`));
  }));
  const spoken = card.lines.map(({ key, name, write }) =>
    `${name}: now ${inWords(write(last[key]))}, at most ${inWords(write(highest(points, [key])))} in the last two minutes`);
  drawPlot(card.svg, points, card.lines, now, spoken.join('; '));
}

// Cards without numbers take no room: their names and reasons are behind one line.
function foldEmpty() {
  const empty = cards.filter((card) => card.is_empty);
  const folded = document.getElementById('folded');
  folded.hidden = empty.length === 0;
  const title = (card) => document.querySelector(`[data-plot="${card.plot}"] h2`).textContent;
  const summary = `Not shown: ${empty.map(title).join(', ')}`;
  if (folded.dataset.text === summary) return;
  folded.dataset.text = summary;
  folded.querySelector('summary').textContent = summary;
  folded.querySelector('ul').replaceChildren(...empty.map((card) => make('li', {}, `${title(card)}: ${card.missing}`)));
}

function cardTexts(now) {
  const text = (plot, words) => { cards.find((card) => card.plot === plot).text = words; };
  const limit = total(now, 'orbserve_limit_memory_bytes');
  text('memory', limit === undefined ? '' : `of ${inWords(asBytes(limit))} that it may use`);
  text('queue', `of ${digits(total(now, 'orbserve_limit_queue_frames') ?? 0)} that may wait`);
  const rails = select(now, 'orbserve_power_watts').filter((each) => each.labels.scope !== 'total');
  text('power', rails.map((each) => `${each.labels.rail} ${inWords(asNumber('W')(each.value))}`).join(' · '));
}

function stageRank(stage) {
  const parts = stage.split('+');
  return STAGE_ORDER.indexOf(parts[0]) + (parts.length > 1 ? 0.5 : 0);
}

function drawStages(now) {
  const older = before(WINDOW_S);
  const hasFrames = ({ stage, device }) => stagePoints.get(`${stage} ${device}`).some((point) => point.mean !== undefined);
  const series = select(now, STAGE + '_count').map((each) => each.labels).filter(hasFrames);
  series.sort((a, b) => stageRank(a.stage) - stageRank(b.stage) || a.device.localeCompare(b.device));
  fillTable('stages', series.map((labels) => {
    const points = stagePoints.get(`${labels.stage} ${labels.device}`);
    const limit = highest(points, ['mean']);
    const last = inWords(asSeconds(points[points.length - 1].mean));
    const svg = make('svg', { class: 'spark', role: 'img', viewBox: '0 0 120 24', preserveAspectRatio: 'none',
      'aria-label': `Mean of ${labels.stage}: now ${last}, at most ${inWords(asSeconds(limit))} in the last two minutes` },
    make('path', { class: 'line first', d: linePath(points, 'mean', (time) => KEEP_S - (now.time - time), (value) => 23 - 22 * value / (limit || 1)) }));
    return { cells: [labels.stage, labels.device, inWords(asDuration(quantile(0.5, older, now, STAGE, labels))),
      inWords(asDuration(quantile(0.99, older, now, STAGE, labels))), svg],
    key: `${labels.stage} ${labels.device}`, attributes: labels.stage === 'compute' ? { class: 'whole' } : {} };
  }));
}

function streamRate(stream) {
  const newest = samples[samples.length - 1];
  for (const sample of samples) {
    const old = newest.time - sample.time <= WINDOW_S && sample.streams.streams.find((each) => each.id === stream.id);
    if (old && sample !== newest) return (stream.received - old.received) / (newest.time - sample.time);
  }
  return undefined;
}

function drawStreams(now) {
  const { streams, open, pictures } = now.streams;
  fillTable('streams', streams.map((stream) => {
    let client = stream.client;
    if (pictures) {
      client = make('button', { type: 'button', 'data-stream': stream.id, title: 'Show its last frame' }, stream.client);
    }
    const lost = (count) => [digits(count), count > 0 ? { class: 'bad' } : {}];
    return { cells: [[client, { class: 'client', title: stream.client }], stream.pipeline, stream.width_px > 0 ? `${stream.width_px}×${stream.height_px}` : '–',
      streamRate(stream) === undefined ? '–' : digits(streamRate(stream)), inWords(asSeconds(stream.ok > 0 ? stream.latency_seconds : undefined)), digits(stream.features),
      lost(stream.dropped), lost(stream.failed), digits(stream.in_flight + stream.waiting), asAge(stream.age_seconds)],
    key: stream.id };
  }));
  const rest = open - streams.length;
  document.getElementById('streams-note').textContent = open === 0 ? 'No stream is open.'
    : `${digits(open)} open${rest > 0 ? `; the table has those with the most frames` : ''}. Latency and features are those of the last frame that ended well.`
      + (pictures ? ' The name of a client shows its last frame.' : '');
}

function drawTotals(now) {
  const older = before(WINDOW_S);
  const outcomes = select(now, 'orbserve_frames_total').filter((each) => each.value > 0 || each.labels.outcome === 'ok');
  const row = (name, key, value, change, bad) => ({ key, cells: [name, [value.toLocaleString('en-GB'), bad ? { class: 'bad' } : {}],
    change === undefined ? '–' : digits(change)] });
  fillTable('totals', [row('arrived', 'received', total(now, 'orbserve_frames_received_total'), added(older, now, 'orbserve_frames_received_total'))]
    .concat(outcomes.map(({ labels: { outcome }, value }) => row(outcome === 'ok' ? 'ended well' : outcome, outcome, value,
      added(older, now, 'orbserve_frames_total', { outcome }), outcome !== 'ok'))));
}

function drawLimits(now) {
  const rows = RESOURCES.map(([name, words, write]) => [name, words, write, total(now, `orbserve_${name}`), total(now, `orbserve_limit_${name}`)]);
  rows.push(['memory_bytes', 'Memory', asBytes, total(now, 'process_resident_memory_bytes'), total(now, 'orbserve_limit_memory_bytes')]);
  fillTable('limits', rows.filter(([, , , used, limit]) => used !== undefined && limit > 0).map(([name, words, write, used, limit]) => {
    const share = used / limit;
    const meter = make('meter', { min: 0, max: 1, low: 0.7, high: 0.9, optimum: 0, value: share, 'aria-label': `${words}: ${inWords(asPercent(share))}` });
    return { cells: [words, inWords(write(used)), inWords(write(limit)), meter], key: name };
  }));
}

function drawDevices(now) {
  const recent = before(RATE_S);
  const devices = select(now, 'orbserve_device_busy_seconds_total').map((each) => each.labels.device).filter((each) => each !== 'other');
  const totals = select(now, 'orbserve_power_watts', { scope: 'total' });
  const rows = devices.map((device) => {
    const info = select(now, 'orbserve_device_info', { device })[0];
    const watts = totals.find((each) => each.labels.rail === device) || (devices.length === 1 && totals.length === 1 ? totals[0] : undefined);
    const clocks = select(now, 'orbserve_device_clock_hertz', { device }).filter((each) => each.labels.clock !== 'memory');
    const heat = select(now, 'orbserve_device_temperature_celsius', { device }).map((each) => each.value);
    const held = select(now, 'orbserve_device_throttled', { device }).filter((each) => each.value > 0).map((each) => each.labels.reason.replaceAll('_', ' '));
    const lost = total(now, 'orbserve_device_lost_total', { device }) > 0;
    const state = lost ? 'lost' : held.length > 0 ? `throttled: ${held.join(', ')}` : 'ok';
    const name = info && info.labels.model ? `${device} (${info.labels.model})` : device;
    return { cells: [[name, { class: 'client', title: name }], inWords(asPercent(busyShare(recent, now, device))), inWords(asNumber('W')(watts && watts.value)),
      inWords(asHertz(clocks.length > 0 ? clocks[0].value : undefined)), inWords(asNumber('°C')(heat.length > 0 ? Math.max(...heat) : undefined)),
      [state, state === 'ok' ? {} : { class: 'bad' }]], key: device };
  });
  // Columns without a number take no room.
  document.querySelectorAll('#devices thead th').forEach((head, i) => {
    head.hidden = rows.length > 0 && rows.every(({ cells }) => cells[i] === '–');
    if (head.hidden) for (const { cells } of rows) cells[i] = ['–', { hidden: '' }];
  });
  fillTable('devices', rows);
}

function drawServer(now) {
  const version = select(now, 'orbserve_build_info')[0]?.labels.version ?? '';
  const start = total(now, 'process_start_time_seconds');
  const words = [`${location.host}`, `version ${version}`];
  if (start !== undefined) words.push(`runs for ${asAge(Math.max(0, Date.now() / 1000 - start))}`);
  if (restarted !== null) words.push(`started anew at ${restarted.toLocaleTimeString('en-GB')}`);
  document.getElementById('server').textContent = words.join(' · ');
}

function show(state, text) {
  const status = document.getElementById('status');
  // An unchanged text is not set again, so that a screen reader does not read it again.
  if (status.textContent !== text) status.textContent = text;
  status.dataset.state = state;
}

// What to say of frames that wait longer than they should; undefined where none does.
function overloadOf(now) {
  const older = before(WINDOW_S);
  const frames = added(older, now, FRAME + '_count');
  const waiting = (sample) => total(sample, 'orbserve_queue_frames') > 0;
  if (frames === 0) {
    const is_long = now.time - older.time > WINDOW_S - 1 && samples.every(waiting);
    return is_long ? `Overloaded: frames wait, and none has ended for ${WINDOW_S} s` : undefined;
  }
  const waits = Object.keys(WAITS).map((stage) => [added(older, now, STAGE + '_sum', { stage }) / frames || 0, stage]);
  const seconds = waits.reduce((sum, [wait]) => sum + wait, 0);
  if (!(seconds > LONG_WAIT_S)) return undefined;
  const [longest, stage] = waits.sort((a, b) => b[0] - a[0])[0];
  // One digit, so that the text rarely changes: it is read aloud then.
  const words = inWords(asSeconds(Number(seconds.toPrecision(1))));
  return `Overloaded: frames wait ${words}, ${longest > 0.9 * seconds ? '' : 'most of it '}${WAITS[stage]}`;
}

function drawAll() {
  const now = samples[samples.length - 1];
  cardTexts(now);
  for (const card of cards) drawCard(card, now.time);
  foldEmpty();
  drawStages(now);
  drawStreams(now);
  drawTotals(now);
  drawLimits(now);
  drawDevices(now);
  drawServer(now);
  const why = select(now, 'orbserve_not_ready').find((each) => each.value > 0);
  const overload = why === undefined ? overloadOf(now) : undefined;
  if (why !== undefined) show('not-ready', `Not ready: ${NOT_READY[why.labels.reason] || why.labels.reason}`);
  else if (overload !== undefined) show('overloaded', overload);
  else show('live', 'Live');
  document.getElementById('live').removeAttribute('data-old');
}

// ---------------------------------------------------------------- the picture of a stream

function drawPicture(picture) {
  const canvas = document.getElementById('picture-canvas');
  const context = canvas.getContext('2d');
  const grey = atob(picture.pixels);
  const image = new ImageData(picture.width_px, picture.height_px);
  for (let i = 0; i < grey.length; ++i) {
    image.data.fill(grey.charCodeAt(i), 4 * i, 4 * i + 3);
    image.data[4 * i + 3] = 255;
  }
  canvas.width = picture.width_px;
  canvas.height = picture.height_px;
  context.putImageData(image, 0, 0);
  const scale = picture.width_px / picture.frame_width_px;
  const marks = new Path2D();
  picture.x.forEach((column, i) => {
    const [x, y] = [(column + 0.5) * scale, (picture.y[i] + 0.5) * scale];
    const radius = Math.max(2.5, picture.size[i] / 2 * scale);
    marks.moveTo(x + radius, y);
    marks.arc(x, y, radius, 0, 2 * Math.PI);
    if (picture.angle_deg[i] < 0) return;
    const angle = picture.angle_deg[i] * Math.PI / 180;
    marks.moveTo(x, y);
    marks.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  });
  // Light on dark, so that the marks are seen on any picture.
  context.lineWidth = 3;
  context.strokeStyle = 'rgb(0 0 0 / 60%)';
  context.stroke(marks);
  context.lineWidth = 1.25;
  context.strokeStyle = '#ffd83d';
  context.stroke(marks);
  const drawn = picture.x.length;
  document.getElementById('picture-note').textContent = `Frame ${picture.sequence} of ${picture.frame_width_px}×${picture.frame_height_px} pixels, `
    + `${digits(picture.features)} features${drawn < picture.features ? `, ${digits(drawn)} of them drawn` : ''}.`;
}

async function updatePicture() {
  if (watched === null) return;
  const { id } = watched;
  let picture = null;
  try {
    const response = await get(`/frame.json?stream=${id}`);
    if (response.ok) picture = await response.json();
  } catch {
    return;  // the next round finds out
  }
  if (watched === null || watched.id !== id) return;
  if (picture === null) document.getElementById('picture-note').textContent = 'The stream has ended.';
  else if (picture.width_px > 0) drawPicture(picture);
}

document.getElementById('streams').addEventListener('click', (event) => {
  const button = event.target.closest('[data-stream]');
  if (button === null) return;
  watched = { id: button.dataset.stream, client: button.textContent };
  const canvas = document.getElementById('picture-canvas');
  canvas.width = canvas.height = 0;
  document.getElementById('picture-client').textContent = watched.client;
  document.getElementById('picture-note').textContent = 'Waiting for the next frame …';
  const section = document.getElementById('picture');
  section.hidden = false;
  section.scrollIntoView({ block: 'nearest' });
});

document.getElementById('picture-close').addEventListener('click', () => {
  watched = null;
  document.getElementById('picture').hidden = true;
});

// ---------------------------------------------------------------- the round

// Returns what the server says now; null where it does not answer.
async function read() {
  try {
    const [metrics, streams] = await Promise.all([get('/metrics'), get('/streams.json')]);
    if (!metrics.ok || !streams.ok) return null;
    return { time: performance.now() / 1000, families: parseMetrics(await metrics.text()), streams: await streams.json() };
  } catch {
    return null;
  }
}

// Takes what the server has kept of the last two minutes, up to a time, in place of the samples of this page. It keeps no
// streams.
async function readHistory(until) {
  const response = await get('/history.json');
  if (!response.ok) return;
  const now = performance.now() / 1000;
  const { samples: kept } = await response.json();
  if (kept.length === 0) return;
  const first = now - kept[0].age_seconds;
  samples = [];
  for (const card of cards) card.points = (card.points || []).filter((point) => point.time < first);
  for (const [key, points] of stagePoints) stagePoints.set(key, points.filter((point) => point.time < first));
  for (const { age_seconds: age, metrics } of kept) {
    if (now - age < until) keep({ time: now - age, families: parseMetrics(metrics), streams: { open: 0, streams: [] } });
  }
}

function keep(sample) {
  samples = samples.filter((each) => sample.time - each.time <= WINDOW_S + 2);
  samples.push(sample);
  takePoints(sample);
}

async function update() {
  const sample = await read();
  if (sample === null) {
    if (lostSince === null) lostSince = new Date();
    show('lost', `No connection since ${lostSince.toLocaleTimeString('en-GB')}`);
    document.getElementById('live').setAttribute('data-old', '');
    return;
  }
  lostSince = null;
  const start = (each) => total(each, 'process_start_time_seconds');
  let last = samples[samples.length - 1];
  if (last !== undefined && start(last) !== start(sample)) {
    samples = [];
    last = undefined;
    restarted = new Date();
  }
  // Without what was missed the page still has what comes.
  if (last === undefined || sample.time - last.time > GAP_S) await readHistory(sample.time).catch(() => {});
  keep(sample);
  drawAll();
  await updatePicture();
}

async function run() {
  try {
    // A page that nobody looks at costs the server nothing.
    if (!document.hidden) await update();
  } finally {
    setTimeout(run, PERIOD_MS);
  }
}

run();
