import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { installPlugin } from '../../src/plugin-packages/install.ts'
import { createTestHost, recordOf, type TestHost } from './test-host.ts'
import { ANYBODY, codeOf, writePlugin } from './test-plugin.ts'

const blame = suite('kernel/plugins/blame')

/** A plugin that leaves an error of its own code behind at each setup. */
const LEAVING = codeOf({ setup: "globalThis.leftError = new Error('too late')" })

async function inPlace(work: (pluginsDir: string) => Promise<void>): Promise<void> {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  await installPlugin(await writePlugin(root.path, { code: LEAVING }), pluginsDir, ANYBODY)
  await work(pluginsDir)
}

interface Life {
  readonly state: string
  readonly error: string | undefined
}

/** A start, and the end of the service: by `end`, then properly unless it `isKilled`. */
async function oneLife(
  pluginsDir: string,
  end: (host: TestHost, error: unknown) => void,
  isKilled = false,
): Promise<Life> {
  const host = await createTestHost({ packages: [], pluginsDir })
  try {
    await host.registry.loadAll()
    const { state, error } = recordOf(host, 'sample')
    end(host, Reflect.get(globalThis, 'leftError'))
    return { state, error }
  } finally {
    const file = join(pluginsDir, 'state.json')
    const counts = await readFile(file, 'utf8')
    await host[Symbol.asyncDispose]()
    // A process that ended by an error stops nothing properly; this one has to.
    if (isKilled) await writeFile(file, counts)
  }
}

const nothing = (): void => undefined
const crash = (host: TestHost, error: unknown): void => {
  assert.match(host.registry.blame(error).join(), /plugins\/sample@1\.0\.0-/)
}

blame('goes without a plugin whose errors ended the service twice in a row, and says why', async () => {
  await inPlace(async (pluginsDir) => {
    assert.is((await oneLife(pluginsDir, crash, true)).state, 'running')
    assert.is((await oneLife(pluginsDir, crash, true)).state, 'running', 'once may be bad luck')
    const { state, error } = await oneLife(pluginsDir, nothing)
    assert.is(state, 'failed')
    assert.match(
      error ?? '',
      /has ended the service 2 times in a row.*its folder is .*svc plugin uninstall sample/,
    )
  })
})

blame('forgets a crash when the service ended properly after it', async () => {
  await inPlace(async (pluginsDir) => {
    await oneLife(pluginsDir, crash, true)
    await oneLife(pluginsDir, nothing)
    await oneLife(pluginsDir, crash, true)
    assert.is((await oneLife(pluginsDir, nothing)).state, 'running')
  })
})

blame('blames nobody for an error of the service itself', async () => {
  await inPlace(async (pluginsDir) => {
    for (let life = 0; life < 3; life += 1) {
      const { state } = await oneLife(
        pluginsDir,
        (host) => assert.equal(host.registry.blame(new Error('own')), []),
        true,
      )
      assert.is(state, 'running')
    }
  })
})

blame('holds every plugin responsible for an error that shows nobody’s code', async () => {
  // What a call of Node's own is rejected with long after it was made: no file of anybody is in its stack.
  const late = await new Promise((resolve) => void readFile('/nonexistent').catch(resolve))
  for (const error of [late, 'a text', undefined]) {
    await inPlace(async (pluginsDir) => {
      const end = (host: TestHost): void => assert.is(host.registry.blame(error).length, 1)
      assert.is((await oneLife(pluginsDir, end, true)).state, 'running')
      assert.is((await oneLife(pluginsDir, end, true)).state, 'running', 'once may be bad luck')
      const { state, error: reason } = await oneLife(pluginsDir, nothing)
      assert.is(state, 'failed')
      assert.match(reason ?? '', 'an error that may be its own has ended the service 2 times in a row')
    })
  }
})

blame('goes without a plugin in whose code the service had to be ended twice in a row', async () => {
  await inPlace(async (pluginsDir) => {
    const [folder = ''] = (await readdir(pluginsDir)).filter((name) => name.startsWith('sample@'))
    const after = async (uptimeMs: number, file: string): Promise<Life> => {
      const frames = [`tick file:///opt/other.js:3`, `run ${pathToFileURL(join(pluginsDir, file)).href}:12`]
      await writeFile(join(pluginsDir, 'hang.json'), JSON.stringify({ uptime_ms: uptimeMs, frames }))
      return await oneLife(pluginsDir, nothing, true)
    }
    assert.is((await oneLife(pluginsDir, nothing)).state, 'running')
    assert.is((await after(60_000, `${folder}/plugin.js`)).state, 'running', 'once may be bad luck')
    assert.not.ok((await readdir(pluginsDir)).includes('hang.json'), 'it is told once')
    assert.is((await after(60_000, 'another@1.0.0-00000000/plugin.js')).state, 'running', 'code of nobody')
    assert.is((await after(4_000_000, `${folder}/plugin.js`)).state, 'running', 'an hour is no row')
    const { state, error } = await after(60_000, `${folder}/plugin.js`)
    assert.is(state, 'failed')
    assert.match(error ?? '', /loop of it that does not end.* has ended the service 2 times in a row/)
  })
})

blame.run()
