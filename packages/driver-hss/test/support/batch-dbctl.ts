import { appendFileSync } from 'node:fs'
import { makeAnsweredDbctl, type Printed } from './answered-dbctl.ts'
import { type Executable, fileStore, runDbctl } from './stand-in-dbctl.ts'

/** Runs one command of the stand-in with `batch` and `show`; each leaves its command line in `<store>.runs`. */
async function runBatchDbctl(argv: readonly string[], storePath: string, input: string): Promise<Printed> {
  appendFileSync(`${storePath}.runs`, `${JSON.stringify(argv)}\n`)
  const store = fileStore(storePath)
  const one = async (words: readonly string[]): Promise<string> => {
    if (words[0] !== 'show') return (await runDbctl(words, store, true)).output
    const docs = (await store.list()).filter(({ imsi }) => imsi === words[1])
    return (await runDbctl(['showpretty'], { ...store, list: async () => docs }, true)).output
  }
  if (argv[0] === 'help')
    return { output: `${await one(argv)}   show {imsi}: one\n   batch: many\n`, code: 0 }
  if (argv[0] !== 'batch') return { output: await one(argv), code: 0 }
  const answers: string[] = []
  for (const line of input.trim().split('\n'))
    answers.push(`${JSON.stringify(await one(JSON.parse(line) as string[]))}\n`)
  return { output: answers.join(''), code: 0 }
}

/** Makes it as an executable. */
export async function makeBatchDbctl(): Promise<Executable> {
  return await makeAnsweredDbctl(runBatchDbctl)
}
