
// Draws the matrix and says what is under the pointer. All text from the model is set as text, never
// as markup.
(() => {
  const byId = id => document.getElementById(id);
  const data = JSON.parse(byId('matrix-data').textContent), n = data.names.length;
  const canvas = byId('matrix'), why = byId('why'), size = byId('size');
  const bands = [byId('row'), byId('column')], box = canvas.closest('.box');
  if (!n) return;

  // 0: independent; else 1 + 2 * cause, and one more if the pair commutes.
  const codes = new Uint32Array(n * n);
  data.rows.forEach((row, a) => {
    let b = 0;
    for (const run of row ? row.split(' ') : []) {
      const [code, length] = run.split('*').map(text => parseInt(text, 36));
      for (let left = length || 1; left > 0; left--, b++) codes[a * n + b] = codes[b * n + a] = code;
    }
  });
  const kind = (a, b) => a === b ? 3 : codes[a * n + b] === 0 ? 0 : codes[a * n + b] % 2 ? 2 : 1;

  const sentence = (a, b) => {
    const [low, high] = a < b ? [a, b] : [b, a];
    const [template, part, firstWrites] = data.causes[(codes[a * n + b] - 1) >> 1];
    const [writer, other] = firstWrites ? [high, low] : [low, high];
    const words = { w: data.names[writer], o: data.names[other], p: data.parts[part] };
    return data.templates[template].split(/\{(.)\}/).map((piece, i) => i % 2 ? words[piece] : piece).join('');
  };
  const explain = (a, b) => {
    if (a === b) return 'one instance';
    const what = ['independent', 'commute wherever both are enabled', 'dependent'][kind(a, b)];
    return kind(a, b) === 0 ? `${what}: neither has an effect on the other`
      : kind(a, b) === 1 ? `${what}, though ${sentence(a, b)}` : `${what}: ${sentence(a, b)}`;
  };

  // Where the cells are; set by draw().
  let cell = 1, left = 0, top = 0;
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const pixels = () => {
    const picture = document.createElement('canvas');
    picture.width = picture.height = n;
    const context = picture.getContext('2d'), image = context.createImageData(n, n);
    // Bytes in memory are red, green, blue, opacity.
    const rgba = ['--independent', '--commutes', '--dependent', '--paper'].map(name =>
      Uint8Array.of(...[1, 3, 5].map(at => parseInt(colour(name).slice(at, at + 2), 16)), 255));
    const words = new Uint32Array(image.data.buffer), inks = rgba.map(bytes => new Uint32Array(bytes.buffer)[0]);
    for (let a = 0, at = 0; a < n; a++) for (let b = 0; b < n; b++, at++) words[at] = inks[kind(a, b)];
    context.putImageData(image, 0, 0);
    // Cells of equal size first, so that scaling them to the place there is blurs little.
    const fine = document.createElement('canvas'), up = Math.max(1, Math.min(4, Math.floor(4096 / n)));
    fine.width = fine.height = n * up;
    const scaled = fine.getContext('2d');
    scaled.imageSmoothingEnabled = false;
    scaled.drawImage(picture, 0, 0, n * up, n * up);
    return fine;
  };
  let picture = pixels();

  const cut = (context, text, width) => {
    if (context.measureText(text).width <= width) return text;
    // In the middle: the ends tell instances apart.
    const letters = [...text];
    for (let keep = letters.length - 1; keep > 1; keep--) {
      const front = Math.ceil(keep / 2), short = letters.slice(0, front).join('') + '…' + letters.slice(front - keep).join('');
      if (context.measureText(short).width <= width) return short;
    }
    return '…';
  };
  // Rules with their places, or instances where there is room for their names.
  const labels = () => cell >= 12
    ? data.names.map((name, i) => [name, i, 1])
    : data.rules.filter(rule => rule[2] > 0);

  const lines = (context, colourName, width, places) => {
    context.strokeStyle = colour(colourName);
    context.lineWidth = width;
    context.beginPath();
    for (const place of places) {
      context.moveTo(left, top + place * cell); context.lineTo(left + n * cell, top + place * cell);
      context.moveTo(left + place * cell, top); context.lineTo(left + place * cell, top + n * cell);
    }
    context.stroke();
  };
  const names = (context, list) => {
    context.fillStyle = colour('--ink');
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    let free = -1;
    for (const [name, first, count] of list) {
      const middle = (first + count / 2) * cell;
      if (middle - 6 < free) continue;
      free = middle + 6;
      context.fillText(cut(context, name, left - 12), left - 8, top + middle);
      context.save();
      context.translate(left + middle, top - 8);
      context.rotate(-Math.PI / 2);
      context.textAlign = 'left';
      context.fillText(cut(context, name, top - 12), 0, 0);
      context.restore();
    }
  };
  const draw = () => {
    const context = canvas.getContext('2d'), font = '12px system-ui, sans-serif';
    const ratio = window.devicePixelRatio || 1, most = 8000 / ratio / n;
    context.font = font;
    const room = box.parentElement.clientWidth, margin = room < 600 ? 110 : 210;
    const fit = Math.min((room - margin - 2) / n, 22);
    cell = Math.min(fit * Number(size.value), Math.max(fit, 24), most);
    if (cell > 3) cell = Math.floor(cell);
    const list = labels(), longest = Math.max(0, ...list.map(label => context.measureText(label[0]).width));
    left = top = Math.ceil(Math.min(longest + 14, margin));
    const side = [left + n * cell + 1, top + n * cell + 1];
    [canvas.width, canvas.height] = side.map(length => Math.ceil(length * ratio));
    [canvas.style.width, canvas.style.height] = side.map(length => `${length}px`);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = font;
    context.imageSmoothingEnabled = cell <= 3;
    context.imageSmoothingQuality = 'high';
    context.drawImage(picture, left, top, n * cell, n * cell);
    if (cell >= 5) lines(context, '--paper', 1, Array.from({ length: n + 1 }, (_, i) => i));
    const starts = data.rules.map(rule => rule[1]);
    if (n * cell / data.rules.length >= 6) lines(context, '--faint', 1, [...starts, n]);
    context.strokeStyle = colour('--faint');
    context.beginPath();
    context.moveTo(left, top);
    context.lineTo(left + n * cell, top + n * cell);
    context.stroke();
    names(context, list);
    point(...at);
  };

  let at = [-1, -1];
  const point = (a, b) => {
    at = [a, b];
    const inside = a >= 0 && b >= 0 && a < n && b < n;
    for (const band of bands) band.hidden = !inside;
    if (!inside) return;
    const thick = `${Math.max(cell, 2)}px`, long = `${n * cell}px`;
    Object.assign(bands[0].style, { left: `${left}px`, top: `${top + a * cell}px`, width: long, height: thick });
    Object.assign(bands[1].style, { left: `${left + b * cell}px`, top: `${top}px`, width: thick, height: long });
    const title = document.createElement('b');
    title.textContent = a === b ? data.names[a] : `${data.names[a]} – ${data.names[b]}`;
    why.replaceChildren(title, document.createElement('br'), explain(a, b));
  };
  const follow = event => {
    const frame = canvas.getBoundingClientRect();
    const a = Math.floor((event.clientY - frame.top - top) / cell);
    const b = Math.floor((event.clientX - frame.left - left) / cell);
    if (a >= 0 && b >= 0 && a < n && b < n) point(a, b);
  };
  canvas.addEventListener('pointermove', follow);
  canvas.addEventListener('pointerdown', follow);
  canvas.addEventListener('keydown', event => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    point(...at.map((place, i) => Math.min(n - 1, Math.max(0, place + step[i]))));
  });
  size.addEventListener('input', draw);
  window.addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { picture = pixels(); draw(); });
  draw();
})();
