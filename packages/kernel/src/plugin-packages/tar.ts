/** As npm dates the files of a package: 1985-10-26T08:15:00Z. */
const TIME_S = 499_162_500
const BLOCK = 512
const SUM_AT = 148
/** What npm puts before each name. */
const ROOT = 'package/'

/**
 * The files as a tar archive, as `npm pack` has them below `package/`: by name, all of one owner, mode and time. POSIX.1-2017,
 * pax, "ustar Interchange Format". Throws a TypeError for a name of more than 100 octets.
 */
export function tarOf(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const parts = [...files]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, bytes]) => [
      header(`${ROOT}${name}`, bytes.length),
      Buffer.from(bytes),
      Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK),
    ])
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}

function header(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new TypeError(`the name ${name} is too long for a package`)
  const block = Buffer.alloc(BLOCK)
  block.write(name)
  const number = (value: number, at: number, digits: number): void => {
    block.write(`${value.toString(8).padStart(digits, '0')}\0`, at)
  }
  number(0o644, 100, 7)
  number(0, 108, 7)
  number(0, 116, 7)
  number(size, 124, 11)
  number(TIME_S, 136, 11)
  block.write('0', 156)
  block.write('ustar\x0000', 257, 'latin1')
  // The sum counts its own field as blanks. It ends with a zero and a blank.
  block.fill(' ', SUM_AT, SUM_AT + 8)
  const sum = block.reduce((total, octet) => total + octet, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, SUM_AT)
  return block
}
