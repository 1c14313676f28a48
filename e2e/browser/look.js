// What cannot be read, hit or found in what a page shows: a list of sentences.
(() => {
  const wrong = [];
  const seen = e => {
    if (e.closest('.unseen, .skip, noscript, defs') || !e.checkVisibility({visibilityProperty: true, opacityProperty: true})) return false;
    const r = e.getBoundingClientRect();
    return r.width > 1 && r.height > 1;
  };
  const called = e => e.localName + (e.getAttribute('class') ? '.' + e.getAttribute('class').replaceAll(' ', '.') : '') + ' ' + JSON.stringify((e.getAttribute('aria-label') || e.textContent || '').trim().slice(0, 40));

  // Nothing is beside the screen.
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) wrong.push(wide + ' pixels are beside the screen');

  for (const e of document.querySelectorAll('main, .panel')) {
    if (e.scrollWidth > e.clientWidth) wrong.push(`${e.scrollWidth - e.clientWidth} pixels are beside ${e.className || e.localName}`);
  }

  // Text in a box of a drawing is in it.
  for (const box of document.querySelectorAll('.box.component')) {
    const shape = box.querySelector('.shape').getBBox();
    for (const text of box.querySelectorAll('text')) {
      const t = text.getBBox();
      if (t.width && (t.x < shape.x || t.x + t.width > shape.x + shape.width + .5)) wrong.push('beside its box: ' + called(text));
    }
  }
  for (const box of document.querySelectorAll('.box')) {
    const texts = [...box.querySelectorAll(':scope > text')].map(e => ({e, r: e.getBBox()})).filter(t => t.r.width);
    texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
      const over = Math.min(a.r.x + a.r.width, b.r.x + b.r.width) - Math.max(a.r.x, b.r.x);
      if (over > 0 && Math.abs(a.r.y + a.r.height / 2 - b.r.y - b.r.height / 2) < 6) wrong.push(`${Math.round(over)} pixels over one another: ${called(a.e)} and ${called(b.e)}`);
    }));
  }

  // What is written in a diagram touches no line of it, and none of its boxes.
  for (const diagram of document.querySelectorAll('.diagram')) {
    if (!seen(diagram)) continue;
    const labels = [...diagram.querySelectorAll('text.line')].map(e => ({e, r: e.getBBox()}));
    const touches = ({r}, x, y) => x > r.x - 1 && x < r.x + r.width + 1 && y > r.y && y < r.y + r.height;
    for (const path of diagram.querySelectorAll('.edge path')) {
      const long = path.getTotalLength();
      const points = Array.from({length: Math.ceil(long) + 1}, (_, i) => path.getPointAtLength(Math.min(i, long)));
      for (const l of labels) if (points.some(p => touches(l, p.x, p.y))) wrong.push('on a line: ' + called(l.e));
    }
    const others = [...diagram.querySelectorAll('rect'), ...labels.map(l => l.e)].map(e => ({e, r: e.getBBox()}));
    labels.forEach((l, i) => others.forEach((o, j) => {
      if (j >= others.length - labels.length && j - others.length + labels.length <= i) return; // itself, or compared already
      if (l.r.x < o.r.x + o.r.width && o.r.x < l.r.x + l.r.width && l.r.y < o.r.y + o.r.height && o.r.y < l.r.y + l.r.height) wrong.push(`in a diagram over another: ${called(l.e)} and ${called(o.e)}`);
    }));
  }

  // Headings: one h1 at least, and no level left out.
  const headings = [...document.querySelectorAll('h1, h2, h3, h4')].filter(e => e.checkVisibility());
  if (!headings.some(e => e.localName === 'h1')) wrong.push('there is no h1');
  headings.reduce((before, e) => {
    const level = +e.localName[1];
    if (level > before + 1) wrong.push('h' + level + ' after h' + before + ': ' + called(e));
    return level;
  }, 0);
  const mains = [...document.querySelectorAll('main')];
  if (mains.length !== 1) wrong.push(mains.length + ' main landmarks');

  // Targets are 24 pixels wide and high, or stand so far apart that a circle of 24 pixels on
  // each meets no other, or are in a sentence (WCAG 2.2, 2.5.8).
  const targets = [...document.querySelectorAll('a[href], button, input, select, textarea, summary')].filter(seen).map(e => ({e, r: e.getBoundingClientRect()}));
  const small = t => Math.min(t.r.width, t.r.height) < 23.5;
  const message = e => e.closest('#said'); // messages lie over the page, and scrolling moves targets away from them
  const middle = r => [r.x + r.width / 2, r.y + r.height / 2];
  for (const t of targets.filter(small)) {
    const inline = getComputedStyle(t.e).display === 'inline' && [...t.e.parentElement.childNodes].some(n => n !== t.e && n.textContent.trim());
    if (inline) continue;
    const [x, y] = middle(t.r);
    const near = targets.find(o => {
      if (o === t || o.e.contains(t.e) || t.e.contains(o.e) || message(o.e) !== message(t.e)) return false;
      if (small(o)) { const [ox, oy] = middle(o.r); return Math.hypot(x - ox, y - oy) < 24; }
      const dx = Math.max(o.r.left - x, 0, x - o.r.right), dy = Math.max(o.r.top - y, 0, y - o.r.bottom);
      return Math.hypot(dx, dy) < 12;
    });
    if (near) wrong.push(`hard to hit, ${Math.round(t.r.width)} by ${Math.round(t.r.height)}: ${called(t.e)} beside ${called(near.e)}`);
  }

  // Contrast (WCAG 2.2, 1.4.3 and 1.4.11).
  const parse = text => { const n = (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number); return text === 'none' ? [0, 0, 0, 0] : [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (top, below) => { const a = top[3] + below[3] * (1 - top[3]); return a ? [...[0, 1, 2].map(i => (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / a), a] : [0, 0, 0, 0]; };
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const painted = e => {
    const s = getComputedStyle(e);
    if (!(e instanceof SVGElement)) return parse(s.backgroundColor);
    if (!['rect', 'path', 'circle'].includes(e.localName)) return [0, 0, 0, 0];
    const c = parse(s.fill);
    return [c[0], c[1], c[2], c[3] * +s.fillOpacity];
  };
  const canvas = parse(getComputedStyle(document.documentElement).backgroundColor);
  const behind = (e, x, y) => {
    const stack = document.elementsFromPoint(x, y);
    let at = stack.indexOf(e), ground = [0, 0, 0, 0];
    if (at < 0) return null; // something lies over it
    for (; at < stack.length && ground[3] < 1; at++) ground = over(ground, painted(stack[at]));
    return over(ground, canvas);
  };
  const done = new Map();
  const once = key => { const n = (done.get(key) || 0) + 1; done.set(key, n); return n <= 2; };
  const where = [scrollX, scrollY];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) if (walker.currentNode.data.trim()) texts.push(walker.currentNode);
  for (const text of texts) {
    const e = text.parentElement;
    if (!seen(e) || e.closest(':disabled, script, option, select, title')) continue;
    const s = getComputedStyle(e), svg = e instanceof SVGElement;
    const colour = parse(svg ? s.fill : s.color);
    if (!once([e.localName, e.getAttribute('class'), e.parentElement.getAttribute('class'), e.closest('[data-tone]')?.dataset.tone, colour].join())) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    e.scrollIntoView({block: 'center', inline: 'center'});
    const r = range.getClientRects()[0] || e.getBoundingClientRect();
    const ground = behind(e, r.x + Math.min(r.width / 2, 4), r.y + r.height / 2);
    if (!ground) continue;
    const ratio = contrast(over(colour, ground), ground);
    if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${called(e)}, ${colour} on ${ground.map(Math.round)}`);
  }
  for (const e of document.querySelectorAll('input, select, .box .tone, .edge path, .bar div, .at rect')) {
    if (!seen(e) || e.disabled) continue;
    const s = getComputedStyle(e), svg = e instanceof SVGElement;
    const key = [e.localName, e.getAttribute('class'), e.closest('[data-tone]')?.dataset.tone].join();
    if (!once(key)) continue;
    e.scrollIntoView({block: 'center', inline: 'center'});
    let mark, ground = over(parse(getComputedStyle(e.closest('.canvas, .diagram, .panel, form') || document.body).backgroundColor), canvas);
    if (e.matches('.bar div')) { mark = parse(s.backgroundColor); ground = parse(getComputedStyle(e.parentElement).backgroundColor); }
    else if (e.matches('.edge path, .at rect')) mark = parse(s.stroke);
    else if (svg) { mark = parse(s.fill); if (!e.closest('[data-tone]:not([data-tone=idle])')) continue; ground = parse(getComputedStyle(e.parentElement.querySelector('.shape')).fill); }
    else mark = parse(s.borderTopColor);
    const ratio = contrast(over(mark, ground), ground);
    if (ratio < 3) wrong.push(`contrast ${ratio.toFixed(2)}: ${called(e)}, ${mark} on ${ground.map(Math.round)}`);
    if (e.placeholder && !e.value) {
      const hint = contrast(parse(getComputedStyle(e, '::placeholder').color), painted(e));
      if (hint < 4.5) wrong.push(`contrast ${hint.toFixed(2)} of the placeholder of ${called(e)}`);
    }
  }
  scrollTo(...where);
  return wrong;
})()
