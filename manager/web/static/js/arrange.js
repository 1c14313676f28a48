// Where containers are in the drawing. The manager's layout is used where it fits; otherwise layers are columns that
// wrap like text, and a container can be a tile with a dot for each of its components.

export const MARGIN = 16; // around the drawing, in its own pixels
export const TILE = {w: 176, head: 30, dot: 15, row: 10}; // a tile, and dots in a row
const MANY = 60; // boxes from which containers begin as tiles
const GAP = 22, ENOUGH = .91, LEGIBLE = .6, WIDE = .77, LARGEST = 1.4;
const HEIGHTS = [1, 2, 3, 4, 6, 8, 12, 20, 40], SCALES = [1.4, 1, .8, .65, .5, .4, .3, .2, .12];

export const many = t => t.boxes.length > MANY;

// fitting returns the scale at which a drawing fits into a room.
export const fitting = (a, room) => Math.min((room.w - 2) / (a.w + 2 * MARGIN), (room.h - 2) / (a.h + 2 * MARGIN), LARGEST);

// topsOf returns the boxes that lie in no other, each with those in it.
const tops = new WeakMap();
export function topsOf(t) {
  if (!tops.has(t)) {
    const all = [], by = new Map();
    for (const b of t.boxes) {
      const last = all.at(-1);
      if (last && b.x >= last.x && b.y >= last.y && b.x + b.w <= last.x + last.w && b.y + b.h <= last.y + last.h) last.boxes.push(b);
      else all.push({name: b.name, kind: b.kind, x: b.x, y: b.y, w: b.w, h: b.h, boxes: [b]});
      by.set(b.name, all.at(-1));
    }
    tops.set(t, {all, by});
  }
  return tops.get(t);
}

// layered returns the outermost boxes by layer: those that nothing requires come first.
function layered(t) {
  const {all, by} = topsOf(t), next = new Map(all.map(p => [p, new Set()])), before = new Map(all.map(p => [p, new Set()]));
  for (const e of t.edges) {
    const from = by.get(e.from), to = by.get(e.to);
    if (from && to && from !== to && !before.get(from).has(to)) { next.get(from).add(to); before.get(to).add(from); }
  }
  const left = new Set(all), layer = new Map();
  let ready = all.filter(p => !before.get(p).size);
  for (let depth = 0; left.size; depth++) {
    if (!ready.length) ready = [[...left].reduce((a, b) => b.x < a.x ? b : a)]; // a cycle
    for (const p of ready) { left.delete(p); layer.set(p, depth); }
    const following = new Set();
    for (const p of ready) for (const n of next.get(p)) { before.get(n).delete(p); if (left.has(n) && !before.get(n).size) following.add(n); }
    ready = [...following];
  }
  const layers = [];
  for (const [p, depth] of layer) (layers[depth] ||= []).push(p);
  const row = new Map();
  for (const one of layers) { // what requires the same is near one another
    const near = p => { const from = t.edges.filter(e => by.get(e.to) === p && row.has(by.get(e.from))).map(e => row.get(by.get(e.from))); return from.length ? from.reduce((a, b) => a + b) / from.length : Infinity; };
    if (all.length < 200) { const at = new Map(one.map(p => [p, near(p)])); one.sort((a, b) => at.get(a) - at.get(b) || 0); }
    one.forEach((p, i) => row.set(p, i));
  }
  return layers;
}

// sized returns an outermost box with the size that it has here.
function sized(p, expanded) {
  const hosted = p.boxes.length - 1;
  const tile = hosted > 0 && !expanded(p.name);
  const shape = tile ? {w: TILE.w, h: TILE.head + TILE.dot * Math.ceil(hosted / TILE.row) + 10} : {w: p.w, h: p.h};
  return {name: p.name, kind: p.kind, tile, of: p, ...shape};
}

// scored is how good an arrangement is: all of it is legible in the window, or as wide as it, or neither.
const scored = (a, room) => fitting(a, room) + (fitting(a, room) >= LEGIBLE ? 20 : (a.w + 2 * MARGIN) * WIDE <= room.w ? 10 : 0);

// flow places layers in columns of at most a height, and wraps columns at a width.
function flow(layers, height, width, gap) {
  let x = 0, y = 0, band = 0, w = 0;
  const placed = [];
  for (const layer of layers) {
    let top = 0, wide = 0, column = [];
    const end = () => {
      if (!column.length) return;
      if (x > 0 && x + wide > width) { x = 0; y += band + 1.5 * gap; band = 0; }
      for (const p of column) placed.push({...p, x, y: y + p.y});
      band = Math.max(band, top - GAP);
      x += wide + gap;
      w = Math.max(w, x - gap);
      top = wide = 0;
      column = [];
    };
    for (const p of layer) {
      if (column.length && top + p.h > height) end();
      column.push({...p, y: top});
      top += p.h + GAP;
      wide = Math.max(wide, p.w);
    }
    end();
  }
  return {w, h: y + band, tops: placed};
}

// wrapped returns the best of some ways to wrap the layers: all of it in the window, or at least all of its width.
function wrapped(t, room, expanded) {
  const layers = layered(t).map(layer => layer.map(p => sized(p, expanded)));
  const tallest = Math.max(...layers.flat().map(p => p.h)), gap = t.edges.length ? 56 : GAP;
  let best = null;
  for (const rows of HEIGHTS) {
    for (const scale of SCALES) {
      const a = flow(layers, tallest * rows + GAP * (rows - 1), Math.max(room.w / scale, TILE.w), gap), fits = fitting(a, room);
      const score = scored(a, room);
      if (!best || score > best.score + fits * .02) best = {...a, fits, score};
    }
  }
  const order = new Map(topsOf(t).all.map((p, i) => [p, i]));
  best.tops.sort((a, b) => order.get(a.of) - order.get(b.of)); // elements that move in the page lose their focus
  return best;
}

// arrange returns the drawing for a room: its size, the outermost boxes with their places, and its lines.
export function arrange(t, room, expanded) {
  const {all} = topsOf(t), tiles = all.some(p => sized(p, expanded).tile);
  const given = {given: true, w: t.width, h: t.height, tops: all.map(p => ({name: p.name, kind: p.kind, of: p, x: p.x, y: p.y, w: p.w, h: p.h})), edges: t.edges.map(e => ({...e, of: [e]}))};
  if (!tiles && fitting(given, room) >= ENOUGH) return given;
  const made = wrapped(t, room, expanded);
  if (!tiles && scored(given, room) >= made.score) return given;
  return {...made, edges: lines(t, new Map(made.tops.map(p => [p.of, p])))};
}

// lines are those between the outermost boxes, one for each pair and relation, and those within one.
function lines(t, at) {
  const {by} = topsOf(t), pairs = new Map(), within = [];
  for (const e of t.edges) {
    const from = at.get(by.get(e.from)), to = at.get(by.get(e.to));
    if (!from || !to) continue;
    if (from === to) {
      if (!from.tile) within.push({of: [e], from: e.from, to: e.to, relation: e.relation, path: e.path, label: e.label, dx: from.x - from.of.x, dy: from.y - from.of.y});
      continue;
    }
    const key = from.name + '>' + to.name + '>' + e.relation;
    if (!pairs.has(key)) pairs.set(key, {of: [], from: e.from, to: e.to, relation: e.relation, a: from, b: to});
    pairs.get(key).of.push(e);
  }
  const outgoing = new Map(), incoming = new Map();
  for (const one of pairs.values()) { (outgoing.get(one.a) || outgoing.set(one.a, []).get(one.a)).push(one); (incoming.get(one.b) || incoming.set(one.b, []).get(one.b)).push(one); }
  const share = (all, one) => (all.indexOf(one) + 1) / (all.length + 1);
  return [...within, ...[...pairs.values()].map(one => ({...one, path: curve(one.a, one.b, share(outgoing.get(one.a), one), share(incoming.get(one.b), one))}))];
}

// curve leads from one box to another: across where it is beside it, and down or up where it is in another band.
function curve(a, b, out, into) {
  const n = v => v.toFixed(1);
  if (b.x >= a.x + a.w && b.y < a.y + a.h + 200) {
    const x1 = a.x + a.w, y1 = a.y + a.h * out, x2 = b.x, y2 = b.y + b.h * into, bow = Math.min(60, (x2 - x1) / 2);
    return `M${n(x1)},${n(y1)} C${n(x1 + bow)},${n(y1)} ${n(x2 - bow)},${n(y2)} ${n(x2)},${n(y2)}`;
  }
  const down = b.y >= a.y + a.h, x1 = a.x + a.w * out, x2 = b.x + b.w * into, y1 = down ? a.y + a.h : a.y, y2 = down ? b.y : b.y + b.h, bow = down ? 28 : -28;
  return `M${n(x1)},${n(y1)} C${n(x1)},${n(y1 + bow)} ${n(x2)},${n(y2 - bow)} ${n(x2)},${n(y2)}`;
}
