// Compresses the built pages as far as it goes, once, and lists them: the service only chooses. node scripts/pack.mjs
// With STEEPLE_LIGHTLY it goes less far, in a tenth of the time: for builds that are only tried.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const SITE = process.env.STEEPLE_OUT ?? fileURLToPath(new URL('../dist/site', import.meta.url))
/** Below it the head of an answer is more than what is saved. */
const LEAST_BYTES = 256
const QUALITY = process.env.STEEPLE_LIGHTLY === undefined ? 11 : 4

const sizes = {}
for (const name of readdirSync(SITE).sort()) {
  if (/\.(br|gz|png|woff2)$/.test(name) || name === 'files.json') continue
  const content = readFileSync(join(SITE, name))
  if (content.length < LEAST_BYTES) continue
  const brotli = brotliCompressSync(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  })
  const gzip = gzipSync(content, { level: 9 })
  writeFileSync(join(SITE, `${name}.br`), brotli)
  writeFileSync(join(SITE, `${name}.gz`), gzip)
  sizes[name] = { bytes: content.length, gzip: gzip.length, brotli: brotli.length }
}
writeFileSync(join(SITE, 'files.json'), `${JSON.stringify(sizes, undefined, 2)}\n`)
