// How wide texts are in drawings, in which none ends or breaks by itself.

const pen = document.createElement('canvas').getContext('2d');
const known = new Map();
let family = '';

export function widthOf(text, size, weight = 400) {
  const key = weight + ' ' + size + ' ' + text;
  if (!known.has(key)) {
    if (known.size > 5000) known.clear();
    pen.font = `${weight} ${size}px ${family ||= getComputedStyle(document.documentElement).fontFamily}`;
    known.set(key, pen.measureText(text).width);
  }
  return known.get(key);
}

// shortened leaves out the middle of a text that is too wide: of one application, many names
// begin or end alike.
export function shortened(text, room, size, weight) {
  const all = [...text];
  let shown = text;
  for (let n = Math.min(all.length - 1, Math.floor(all.length * room / widthOf(text, size, weight))); n > 1 && widthOf(shown, size, weight) > room; n--) {
    shown = all.slice(0, Math.ceil(n / 2)).join('') + '…' + all.slice(all.length - Math.floor(n / 2)).join('');
  }
  return shown;
}

// cut leaves out the end of a text that is too wide: a reason begins with what matters.
export function cut(text, room, size) {
  let n = text.length;
  if (widthOf(text, size) <= room) return text;
  for (n = Math.min(n - 1, Math.floor(n * room / widthOf(text, size)) + 3); n > 1 && widthOf(text.slice(0, n) + '…', size) > room;) n--;
  return text.slice(0, n).trimEnd() + '…';
}
