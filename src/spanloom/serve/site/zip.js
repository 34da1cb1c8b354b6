/** Files as one zip archive, stored as they are (APPNOTE 6.3.3, sections 4.3.7 to 4.3.16). */

const UTF8 = 0x0800; // flag: names are UTF-8
const VERSION = 20; // 2.0, the least that all readers know
const NEW_YEAR = 0x0021; // 1980-01-01, so that the same files make the same archive
const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50];

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? 0xedb88320 ^ (rest >>> 1) : rest >>> 1;
  return rest;
});

/**
 * Return the CRC-32 of some bytes.
 * @param {Uint8Array} bytes
 */
export function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 0xff] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/**
 * Return an archive.
 * @param {Object<string, string>} files  Texts by name.
 * @returns {Uint8Array}
 */
export function zip(files) {
  const encoder = new TextEncoder();
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const [path, content] = [encoder.encode(name), encoder.encode(text)];
    const facts = factsOf(path, content);
    const head = bytesOf([4, LOCAL], ...facts);
    // No comment, disk 0, attributes 0 and 0, where the local header is.
    const rest = [
      [2, 0],
      [2, 0],
      [2, 0],
      [4, 0],
      [4, offset],
    ];
    directory.push(bytesOf([4, CENTRAL], [2, VERSION], ...facts, ...rest), path);
    parts.push(head, path, content);
    offset += head.length + path.length + content.length;
  }
  const [count, size] = [directory.length / 2, lengthOf(directory)];
  const end = [
    [2, 0],
    [2, 0],
    [2, count],
    [2, count],
    [4, size],
    [4, offset],
    [2, 0],
  ];
  return joined([...parts, ...directory, bytesOf([4, END], ...end)]);
}

/** Return what both headers of a file say: version, flags, method, time, date, CRC, sizes, names. */
function factsOf(path, content) {
  const size = [4, content.length];
  const times = [
    [2, 0],
    [2, NEW_YEAR],
  ];
  const lengths = [
    [2, path.length],
    [2, 0],
  ];
  return [[2, VERSION], [2, UTF8], [2, 0], ...times, [4, crc32(content)], size, size, ...lengths];
}

/** Return numbers of so many bytes each, the low byte first. */
function bytesOf(...fields) {
  return Uint8Array.from(
    fields.flatMap(([size, value]) =>
      Array.from({ length: size }, (_, at) => (value >>> (8 * at)) & 0xff),
    ),
  );
}

function lengthOf(parts) {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

function joined(parts) {
  const whole = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
