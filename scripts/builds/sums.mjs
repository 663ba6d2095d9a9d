// Hashes beside packages, as `sha256sum -c` reads them.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const ENDING = '.sha256'

/** Writes `FILE.sha256` beside each of the files. */
export function hashEach(files) {
  for (const file of files) {
    writeFileSync(`${file}${ENDING}`, `${sha256(file)}  ${basename(file)}\n`)
  }
}

/** Hexadecimal, of what is in a file. */
export function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/** Writes SHA256SUMS in a folder: what lies beside the packages that are in it, those of earlier runs too, sorted by name. */
export function hashAll(folder) {
  const lines = readdirSync(folder)
    .filter((name) => name.endsWith(ENDING) && existsSync(join(folder, name.slice(0, -ENDING.length))))
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''))
}
