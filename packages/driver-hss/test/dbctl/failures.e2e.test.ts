import { readFile, writeFile } from 'node:fs/promises'
import { isServiceError } from '@steeple/contracts'
import { assert, eventually, patient, suite } from '@steeple/testkit'
import { dbctlDriver } from '../../src/dbctl/dbctl-driver.ts'
import { toolRunner } from '../../src/dbctl/run-tool.ts'
import type { WriteBackDriver } from '../../src/driver.ts'
import { noneDriver } from '../../src/drivers.ts'
import { type Executable, makeDbctl, makeScript, withScript } from '../support/dbctl-tool.ts'
import { subscriber } from '../support/subscribers.ts'

const dbctl = suite('driver-hss/dbctl/failures')

/** A tool with a help, as the stock one has, and `rest` of a shell script for all other commands. */
const helpful = (rest: string) =>
  `#!/bin/sh\nif [ "$1" = help ]; then\n  echo "   add_ue_with_apn {imsi}: adds"\n  exit 1\nfi\necho "$@" >> "$0.runs"\n${rest}\n`

async function runsOf(tool: Executable): Promise<string> {
  return await readFile(`${tool.path}.runs`, 'utf8').catch(() => '')
}

/** What every call of a driver is rejected with; throws when one is not. */
async function refusals(driver: WriteBackDriver): Promise<readonly Error[]> {
  const [one, two] = [subscriber(1), subscriber(2)]
  const imsis = [one.imsi, two.imsi]
  const calls = [
    () => driver.probe(patient()),
    () => driver.observe(imsis, patient()),
    () => driver.upsert([one, two], patient()),
    () => driver.upsert([subscriber(1, { isBlocked: true })], patient()),
    () => driver.remove(imsis, patient()),
    () => driver.setBlocked(imsis, true, patient()),
  ]
  const errors: Error[] = []
  for (const call of calls) {
    const error = await call().then(
      (result) => new Error(`it did not reject: ${String(result)}`),
      (reason: Error) => reason,
    )
    assert.ok(isServiceError(error) && error.code === 'southbound_unavailable', error.message)
    errors.push(error)
  }
  return errors
}

dbctl('adds and removes nobody while the database is down, whatever the exit code', async () => {
  const key = '465b5ce8b199b49faa5f0a2ee238a6bc'
  const { imsi } = subscriber(1)
  const failures: readonly (readonly [string, RegExp])[] = [
    [
      'echo "MongoNetworkError: connect ECONNREFUSED 127.0.0.1:27017" >&2',
      /connect ECONNREFUSED 127\.0\.0\.1:27017$/,
    ],
    [`echo "MongoServerError: ${imsi} k: ${key}"`, /MongoServerError: … k: …$/],
    ['echo "$0: line 827: mongosh: command not found" >&2', /mongosh: command not found$/],
  ]
  for (const [say, words] of failures) {
    for (const code of [0, 1]) {
      await withScript(helpful(`${say}\nexit ${code}`), async (driver, tool) => {
        for (const { message } of await refusals(driver)) assert.match(message, words)
        assert.not.match(await runsOf(tool), /add_ue|ambr_speed|update_apn/)
      })
    }
  }
})

dbctl('tries nobody else when the database goes down in between, and keeps what got through', async () => {
  const one = `echo "{ acknowledged: true, insertedId: ObjectId('6b00336d94c05ec68f531651') }"`
  const [first, second, third] = [subscriber(1, { apns: ['internet'] }), subscriber(2), subscriber(3)]
  await withScript(
    helpful(`case "$(wc -l < "$0.runs") $1" in
      "1 showpretty") echo; exit 0;;
      "2 add_ue_with_apn") ${one}; exit 0;;
      "3 ambr_speed") echo "{ matchedCount: 1 }"; exit 0;;
    esac
    echo "MongoNetworkError: connection closed" >&2
    exit 1`),
    async (driver, tool) => {
      const result = await driver.upsert([first, second, third], patient())
      assert.is(result.get(first.imsi), undefined)
      assert.match(String(result.get(second.imsi)?.message), /MongoNetworkError/)
      assert.match(String(result.get(third.imsi)?.message), /MongoNetworkError/)
      assert.not.ok((await runsOf(tool)).includes(third.imsi))
    },
  )
})

dbctl('gives no key to a tool whose help says nothing, and asks it again the next time', async () => {
  for (const code of [0, 1]) {
    const script = `#!/bin/sh\n[ "$1" = help ] || echo "$@" >> "$0.runs"\nexit ${code}\n`
    await withScript(script, async (driver, tool) => {
      for (const { message } of await refusals(driver)) assert.match(message, /dbctl for help says nothing/)
      assert.is(await runsOf(tool), '')
      const { path, remove } = await makeDbctl('stock')
      await writeFile(tool.path, await readFile(path))
      assert.match((await driver.probe(patient())).detail, /answers/)
      await remove()
    })
  }
})

dbctl('takes an empty answer of a batch for nobody only when the run names no failure', async () => {
  const script = `#!/bin/sh
if [ "$1" = help ]; then
  echo "   add_ue_with_apn {imsi}: adds"; echo "   batch: many"; echo "   show {imsi}: one"; exit 0
fi
while read -r line; do echo "$line" >> "$0.runs"; printf '%s\\n' '"\\n"'; done
[ -e "$0.up" ] || echo "MongoNetworkError: connect ECONNREFUSED 127.0.0.1:27017" >&2
`
  await withScript(script, async (driver, tool) => {
    for (const { message } of await refusals(driver)) assert.match(message, /connect ECONNREFUSED/)
    assert.not.match(await runsOf(tool), /add_ue|ambr_speed|update_apn/)
    await writeFile(`${tool.path}.up`, '')
    assert.is((await driver.observe([subscriber(1).imsi], patient())).size, 0)
  })
})

dbctl('with the database at hand, keeps writing those that need no tool', async () => {
  const [held, absent] = [subscriber(1), subscriber(2)]
  const tool = await makeScript('#!/bin/sh\nexit 0\n')
  const written: string[] = []
  const documents: WriteBackDriver = {
    ...noneDriver(),
    observe: async () => new Map([[held.imsi, held]]),
    upsert: async (all) => {
      written.push(...all.map(({ imsi }) => imsi))
      return new Map(all.map(({ imsi }) => [imsi, undefined]))
    },
  }
  const driver = dbctlDriver({ path: tool.path, url: 'mongodb://127.0.0.1/x', documents })
  const result = await driver.upsert([held, absent], patient())
  assert.is(result.get(held.imsi), undefined)
  assert.match(String(result.get(absent.imsi)?.message), /dbctl for help says nothing/)
  assert.equal(written, [held.imsi])
  await tool.remove()
})

dbctl('calls garbage garbage, and keeps it to itself', async () => {
  await withScript(helpful('echo "hello k 465b5ce8b199b49faa5f0a2ee238a6bc"'), async (driver) => {
    for (const { message } of await refusals(driver)) {
      assert.match(message, /says nothing that can be read/)
      assert.not.match(message, /465b|hello/)
    }
  })
})

dbctl('ends a tool that hangs, and what it started', async () => {
  const tool = await makeScript('#!/bin/sh\nsleep 600 & echo $! > "$0.pid"\nsleep 600\n')
  // Long enough for the tool to begin on a busy machine: what it started has to be there.
  const run = toolRunner(tool.path, 5_000)
  const error = await run(['showpretty'], patient()).then(
    () => undefined,
    (reason: Error) => reason,
  )
  assert.match(String(error?.message), /did not end within 5000 ms/)
  await ended(tool)
  await tool.remove()
})

dbctl('ends what a tool leaves in the background, and does not wait for it', async () => {
  for (const quiet of ['', '> /dev/null 2>&1 < /dev/null']) {
    const tool = await makeScript(`#!/bin/sh\nsleep 600 ${quiet} &\necho $! > "$0.pid"\necho done\n`)
    const { output, code } = await toolRunner(tool.path, 60_000)(['showpretty'], patient())
    assert.equal([output, code], ['done\n', 0])
    await ended(tool)
    await tool.remove()
  }
})

/** Waits for the end of the process whose number the tool wrote down. */
async function ended(tool: Executable): Promise<void> {
  const pid = (await readFile(`${tool.path}.pid`, 'utf8')).trim()
  assert.match(pid, /^[0-9]+$/)
  await eventually(async () => {
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '0 (gone) Z')
    assert.match(state, /\) [ZX]/)
  })
}

dbctl.run()
