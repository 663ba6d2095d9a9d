import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { ROOT } from '../harness/launch.ts'
import { startService } from '../harness/service.ts'
import { benchBrowser, openFirstScreen } from './console-tab.ts'
import type { Finding } from './measure.ts'

const SITE = join(ROOT, 'packages/console/dist/site')
const LIMIT_KB = 150

/** The files of the site that a browser has asked for until the first screen is there, by their names. */
export async function firstScreenFiles(): Promise<readonly string[]> {
  const service = await startService()
  const browser = await benchBrowser()
  try {
    const page = await openFirstScreen(browser, service)
    await page.getByRole('region', { name: 'What happened last' }).waitFor()
    const asked = await page.evaluate<readonly string[]>(
      `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)`,
    )
    const names = asked.filter((path) => path.startsWith('/console-files/')).map((path) => path.slice(15))
    return ['index.html', ...new Set(names)]
  } finally {
    await browser.close()
    await service.stop()
  }
}

/** What the first screen loads of the console, compressed. */
export async function benchConsoleBytes(): Promise<readonly Finding[]> {
  const names = await firstScreenFiles()
  const files = names.map((name) => readFileSync(join(SITE, name)))
  const kB = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0) / 1_000
  const gzip = kB(files.map((file) => gzipSync(file, { level: 9 }).length))
  const brotli = kB(files.map((file) => brotliCompressSync(file).length))
  const plain = { what: 'as they are', value: kB(files.map(({ length }) => length)) }
  return [
    { name: `first screen of the console, ${names.length} files, gzip`, value: gzip },
    { name: 'the same, brotli', value: brotli },
  ].map(({ name, value }) => ({
    ...{ name, value, unit: 'kB', beside: plain },
    ...{ target: `≤ ${LIMIT_KB} kB`, isMet: value <= LIMIT_KB },
  }))
}
