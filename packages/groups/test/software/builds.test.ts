import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { signatureText } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { buildFolder, buildOf, isTrusted, sumOf, wrongIn } from '../../src/software/builds.ts'

const builds = suite('groups/software-builds')
const PURPOSE = 'steeple build 1'
const RECORD = 'lib/node_modules/@steeple/cli/build.json'
const FILES = {
  'bin/svc': '#!/bin/sh\n',
  [RECORD]: JSON.stringify({ version: '1.2.3', date: '2026-01-02T03:04:05Z', arch: 'x64' }),
}

function signer() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    publicKey: `ed25519:${publicKey.export({ format: 'jwk' }).x}`,
    sign: (text: string) => sign(null, Buffer.from(text), privateKey).toString('base64url'),
  }
}
const KEY = signer()
const never = new AbortController().signal

async function withBuild(work: (dir: string, root: string, text: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'steeple-builds-'))
  const root = join(dir, 'builds', 'one')
  try {
    const sums = new Map<string, string>()
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
      sums.set(path, String(await sumOf(join(root, path))))
    }
    const text = signatureText(PURPOSE, sums, KEY)
    writeFileSync(join(root, 'signature.json'), text)
    await work(dir, root, text)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

builds('a signed folder is a build, and says what it is; others are none', async () => {
  await withBuild(async (dir, root) => {
    mkdirSync(join(dir, 'builds', 'empty'))
    mkdirSync(join(dir, 'builds', '.fetch-1'))
    const folder = buildFolder(dir)
    const [build, ...more] = await folder.list()
    assert.is(more.length, 0)
    assert.equal([build?.folder, build?.version, build?.arch], ['one', '1.2.3', 'x64'])
    assert.match(String(build?.id), /^[0-9a-f]{12}$/)
    assert.equal(await folder.find(String(build?.id)), build)
    if (build === undefined) return
    assert.is(await wrongIn(root, build, never), undefined)
    assert.ok(isTrusted(build, [`${KEY.publicKey} builders`]))
    assert.not(isTrusted(build, [`${signer().publicKey} builders`]))
    assert.not(isTrusted(build, []))
  })
})

builds('what was changed, is missing, or lies beside the programs unsigned is found', async () => {
  await withBuild(async (_, root, text) => {
    const build = buildOf(text)
    if (build === undefined) throw new Error('it is no build')
    writeFileSync(join(root, 'lib/more.js'), 'more')
    assert.is(await wrongIn(root, build, never), 'lib/more.js')
    rmSync(join(root, 'lib/more.js'))
    writeFileSync(join(root, 'control.yaml'), 'server: {}')
    assert.is(await wrongIn(root, build, never), undefined)
    writeFileSync(join(root, 'bin/svc'), '#!/bin/sh\nexit 1\n')
    assert.is(await wrongIn(root, build, never), 'bin/svc')
    rmSync(join(root, 'bin/svc'))
    assert.is(await wrongIn(root, build, never), 'bin/svc')
  })
})

builds(
  'a signature for another purpose, one that was changed at any place, and names that lead out are none',
  async () => {
    await withBuild(async (_, __, text) => {
      fc.assert(
        fc.property(
          fc.integer({ min: 0, max: text.length - 1 }),
          fc.constantFrom('0', 'a', '"', ' ', '-'),
          (at, put) => {
            const changed = `${text.slice(0, at)}${put}${text.slice(at + 1)}`
            const read = buildOf(changed)
            // White space between is no part of what is signed; all else is.
            return (
              read === undefined ||
              JSON.stringify([...read.files]) === JSON.stringify([...(buildOf(text)?.files ?? [])])
            )
          },
        ),
      )
    })
    const files = new Map([
      ['bin/svc', 'a'.repeat(64)],
      [RECORD, 'b'.repeat(64)],
    ])
    assert.ok(buildOf(signatureText(PURPOSE, files, KEY)))
    assert.is(buildOf(signatureText('steeple plugin package 1', files, KEY)), undefined)
    for (const path of ['../x', 'lib/../../x', '/etc/x', 'lib//x', 'lib/./x', 'lib/a b', ''])
      assert.is(
        buildOf(signatureText(PURPOSE, new Map([...files, [path, 'c'.repeat(64)]]), KEY)),
        undefined,
        path,
      )
  },
)

builds.run()
