import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { type BoxCalls, boxCallsRef, type Context, signatureText } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import type { GroupsConfig } from '../../src/context.ts'
import { buildFolder, buildOf } from '../../src/software/builds.ts'
import { Fetcher } from '../../src/software/fetch.ts'

const fetching = suite('groups/software-fetch')
const RECORD = 'lib/node_modules/@steeple/cli/build.json'
const LARGE = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * at) % 251))
const FILES: Readonly<Record<string, Uint8Array>> = {
  'bin/svc': Buffer.from('#!/bin/sh\n'),
  'lib/large.js': LARGE,
  'lib/empty': Buffer.alloc(0),
  [RECORD]: Buffer.from(JSON.stringify({ version: '2.0.0', date: '2026-01-02T03:04:05Z', arch: 'x64' })),
}
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const KEY = {
  publicKey: `ed25519:${publicKey.export({ format: 'jwk' }).x}`,
  sign: (text: string) => sign(null, Buffer.from(text), privateKey).toString('base64url'),
}
const SIGNATURE = signatureText(
  'steeple build 1',
  new Map(Object.entries(FILES).map(([path, octets]) => [path, hash('sha256', octets)])),
  KEY,
)
const BUILD = String(buildOf(SIGNATURE)?.id)
const never = new AbortController().signal

/** A hub that can fail at a question, or change what it gives; `asked`: the files that it was asked for. */
interface Hub {
  readonly asked: string[]
  cutAt: number | undefined
  change: ((octets: Buffer) => Buffer) | undefined
}

async function withBox(
  trusted: string,
  work: (parts: {
    readonly hub: Hub
    readonly dir: string
    readonly builds: ReturnType<typeof buildFolder>
    step(roots?: readonly string[]): ReturnType<Fetcher['step']>
  }) => Promise<void>,
): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'steeple-fetch-'))
  const hub: Hub = { asked: [], cutAt: undefined, change: undefined }
  let questions = 0
  const calls: Pick<BoxCalls, 'call'> = {
    call: async (_, { path: asked }) => {
      questions += 1
      if (questions === hub.cutAt) throw new Error('cut off')
      const { pathname, searchParams } = new URL(asked, 'https://hub.invalid')
      if (pathname === `/v1/software/${BUILD}`)
        return { status: 200, body: { signature: SIGNATURE, octets: 1 } }
      const path = String(searchParams.get('path'))
      const [from, most] = [Number(searchParams.get('from')), Number(searchParams.get('most'))]
      if (hub.asked.at(-1) !== path) hub.asked.push(path)
      const whole = Buffer.from(FILES[path] ?? [])
      const piece = whole.subarray(from, from + most)
      const octets = deflateRawSync(hub.change?.(piece) ?? piece).toString('base64')
      return { status: 200, body: { size: whole.length, octets } }
    },
  }
  // What a fetch asks of its context.
  const context = {
    config: { build_keys: [`${trusted} builders`] },
    use: (ref: object) => (ref === boxCallsRef ? calls : undefined),
  } as unknown as Context<GroupsConfig>
  const builds = buildFolder(dir)
  const fetcher = new Fetcher(context, builds)
  try {
    await work({
      ...{ hub, dir, builds },
      step: (roots = []) => fetcher.step({ hub: 'hub', build: BUILD, octetsPerS: undefined }, roots, never),
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

fetching('only what the box does not have is asked for, and what comes is the build', async () => {
  await withBox(KEY.publicKey, async ({ hub, dir, builds, step }) => {
    const root = join(dir, 'installed')
    for (const path of ['bin/svc', RECORD]) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), FILES[path] ?? '')
    }
    mkdirSync(join(root, 'lib'), { recursive: true })
    writeFileSync(join(root, 'lib/large.js'), 'the one of before')
    assert.equal(await step([root]), { state: 'whole' })
    assert.equal(hub.asked.toSorted(), ['lib/empty', 'lib/large.js'])
    const build = await builds.find(BUILD)
    assert.is(build?.version, '2.0.0')
    assert.equal(readFileSync(join(dir, 'builds', BUILD, 'lib/large.js')), LARGE)
  })
})

fetching('cut off at any question, it goes on with what has come', async () => {
  for (const at of [1, 2, 3, 4, 5]) {
    await withBox(KEY.publicKey, async ({ hub, dir, step }) => {
      hub.cutAt = at
      const said = await step().catch((error: Error) => error.message)
      assert.is(said, 'cut off')
      hub.cutAt = undefined
      assert.equal(await step(), { state: 'whole' })
      assert.equal(readFileSync(join(dir, 'builds', BUILD, 'lib/large.js')), LARGE)
    })
  }
})

fetching('a file that comes otherwise than it was signed is none, and asked for again', async () => {
  await withBox(KEY.publicKey, async ({ hub, builds, step }) => {
    hub.change = (octets) => Buffer.from(octets.map((octet) => octet ^ 1))
    const said = await step().catch((error: Error) => error.message)
    assert.match(String(said), /came otherwise than it was signed/)
    assert.equal(await builds.list(), [])
    hub.change = undefined
    assert.equal(await step(), { state: 'whole' })
  })
})

fetching('a build of somebody whom this box does not trust is not fetched', async () => {
  const other = KEY.publicKey.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
  await withBox(other, async ({ hub, step }) => {
    const fetched = await step()
    assert.is(fetched.state, 'refused')
    assert.equal(hub.asked, [])
  })
})

fetching.run()
