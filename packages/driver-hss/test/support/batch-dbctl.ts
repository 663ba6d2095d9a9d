import { appendFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { type Executable, fileStore, makeDbctl, runDbctl } from './stand-in-dbctl.ts'

/** The stand-in with `batch` and `show`; each of its runs leaves its command line in `<store>.runs`. */
export async function runBatchDbctl(argv: readonly string[], storePath: string): Promise<void> {
  appendFileSync(`${storePath}.runs`, `${JSON.stringify(argv)}\n`)
  const store = fileStore(storePath)
  const one = async (words: readonly string[]): Promise<string> => {
    if (words[0] !== 'show') return (await runDbctl(words, store, true)).output
    const docs = (await store.list()).filter(({ imsi }) => imsi === words[1])
    return (await runDbctl(['showpretty'], { ...store, list: async () => docs }, true)).output
  }
  if (argv[0] !== 'batch') {
    process.stdout.write(await one(argv))
    if (argv[0] === 'help') process.stdout.write('   show {imsi}: one\n   batch: many\n')
    return
  }
  for (const line of (await text(process.stdin)).trim().split('\n'))
    process.stdout.write(`${JSON.stringify(await one(JSON.parse(line) as string[]))}\n`)
}

/** Makes it as an executable. */
export async function makeBatchDbctl(): Promise<Executable> {
  const file = JSON.stringify(import.meta.url)
  // The store is beside it.
  const code = `#!${process.execPath} --no-warnings
import(${file}).then(({ runBatchDbctl }) =>
  runBatchDbctl(process.argv.slice(2), process.argv[1].replace(/[^/]*$/, 'store.json')))
`
  return await makeDbctl(true, code)
}
