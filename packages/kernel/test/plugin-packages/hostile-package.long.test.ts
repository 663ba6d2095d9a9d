import { readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { isServiceError } from '@steeple/contracts'
import { assert, suite, tempDir } from '@steeple/testkit'
import { installPackage, installPlugin, withUnpackedBytes } from '../../src/plugin-packages/install.ts'
import { packPlugin, tarOf } from '../../src/plugin-packages/pack.ts'
import { filesOf, keyOf, signedPackage, writeBuilt } from './signed-package.ts'

const hostile = suite('plugin-packages/hostile-package')
/** Entries of an archive that are no files. POSIX.1-2017, pax, "ustar Interchange Format", typeflag. */
const LINKS = { hard: '1', symbolic: '2', device: '3', folder: '5', pipe: '6' } as const

/** An archive whose entries of some names have another type, or are called otherwise. */
function changed(archive: Uint8Array, change: (name: string, header: Buffer) => void): Buffer {
  const copy = Buffer.from(archive)
  for (let at = 0; copy[at] !== 0; ) {
    const header = copy.subarray(at, at + 512)
    const size = Number.parseInt(header.toString('utf8', 124, 135), 8)
    change(header.toString('utf8', 0, header.indexOf(0)), header)
    header.fill(' ', 148, 156)
    header.write(
      `${header
        .reduce((sum, octet) => sum + octet, 0)
        .toString(8)
        .padStart(6, '0')}\0`,
      148,
    )
    at += 512 + Math.ceil(size / 512) * 512
  }
  return copy
}

async function refusal(root: string, bytes: Uint8Array, trust: readonly string[]): Promise<string> {
  const policy = { trust, allow_unsigned: false }
  return await installPackage(bytes, join(root, 'plugins'), { policy }).then(
    () => 'installed',
    (error: unknown) => (isServiceError(error) ? `${error.code} ${error.message}` : `raw ${String(error)}`),
  )
}

hostile('with links, devices or folders in the place of signed files is not what was signed', async () => {
  await using root = await tempDir()
  const { key, entry } = await keyOf(root.path, 'alice')
  const files = await filesOf(await signedPackage(root.path, key))
  for (const [what, type] of Object.entries(LINKS)) {
    for (const file of ['plugin.js', 'README.md', 'signature.json']) {
      const archive = changed(await tarOf(files), (name, header) => {
        if (name === `package/${file}`) header.write(type, 156)
      })
      const said = await refusal(root.path, gzipSync(archive), [entry])
      assert.match(
        said,
        /^plugin_failed .*(is missing|not what was signed|not signed|cannot be unpacked)/,
        `${what} ${file}`,
      )
    }
  }
  assert.not.ok((await readdir(root.path)).includes('plugins'))
})

hostile('that names places outside of itself writes nothing there, and is not what was signed', async () => {
  await using root = await tempDir()
  const { key, entry } = await keyOf(root.path, 'alice')
  const files = await filesOf(await signedPackage(root.path, key))
  const before = await readdir(root.path)
  for (const to of [
    'package/../../README.md',
    '../README.md',
    '/etc/README.md',
    'package/a/../../../README.md',
  ]) {
    const archive = changed(await tarOf(files), (name, header) => {
      if (name === 'package/README.md') header.write(`${to}\0`)
    })
    assert.match(await refusal(root.path, gzipSync(archive), [entry]), /not what was signed/, to)
  }
  assert.equal(await readdir(root.path), before)
})

hostile('that is damaged, cut off, continued or names a file twice is not unpacked', async () => {
  await using root = await tempDir()
  const { key, entry } = await keyOf(root.path, 'alice')
  const files = await filesOf(await signedPackage(root.path, key))
  const whole = Buffer.from(await tarOf(files))
  const evil = await tarOf(new Map([['plugin.js', Buffer.from('evil')]]))
  const wrongSum = Buffer.from(whole)
  wrongSum.write('package/plugin.mjs', 0)
  const last = whole.length - 1_024
  const archives = {
    'names a file twice': Buffer.concat([evil.subarray(0, 1_024), whole]),
    'has a header of another sum': wrongSum,
    'has no end': whole.subarray(0, last),
    'ends within a file': whole.subarray(0, last - 512),
    'goes on behind its end': Buffer.concat([whole, Buffer.from('more')]),
  }
  for (const [what, archive] of Object.entries(archives))
    assert.match(
      await refusal(root.path, gzipSync(archive), [entry]),
      /^plugin_failed .*cannot be unpacked/,
      what,
    )
  assert.not.ok((await readdir(root.path)).includes('plugins'))
  assert.is(await refusal(root.path, gzipSync(whole), [entry]), 'installed')
})

hostile('is not unpacked beyond what a plugin can be', async () => {
  await using root = await tempDir()
  const { entry } = await keyOf(root.path, 'alice')
  const bomb = gzipSync(Buffer.alloc(65 * 1024 * 1024))
  assert.match(await refusal(root.path, bomb, [entry]), /^plugin_failed .*cannot be unpacked/)
  const many = new Map(Array.from({ length: 1001 }, (_, at) => [`f${at}`, Buffer.alloc(0)]))
  assert.match(
    await refusal(root.path, gzipSync(await tarOf(many)), [entry]),
    /^plugin_failed .*more than 1000 files/,
  )
  for (const junk of [
    Buffer.alloc(0),
    Buffer.from('PK'),
    gzipSync('no archive'),
    gzipSync(Buffer.alloc(512, 0xff)),
  ])
    assert.match(await refusal(root.path, junk, [entry]), /^plugin_failed /)
})

hostile('with a manifest that is no text of one is not parsed, whoever has signed it', async () => {
  await using root = await tempDir()
  const { entry } = await keyOf(root.path, 'alice')
  const files = await filesOf(
    (await packPlugin(await writeBuilt(root.path, 'plain'), { out: root.path })).file,
  )
  const said = async (manifest: string): Promise<string> => {
    const changed = new Map([...files, ['package.json', Buffer.from(manifest)] as const])
    return await refusal(root.path, gzipSync(await tarOf(changed)), [entry])
  }
  // Whoever parses it does nothing else for half a minute.
  assert.match(await said('['.repeat(30 * 1024 * 1024)), /package\.json is larger than 262144 bytes/)
  const manifest = JSON.parse(String(files.get('package.json')))
  const long = JSON.stringify({ ...manifest, description: 'x'.repeat(262_144) })
  assert.match(await said(long), /package\.json is larger than 262144 bytes/)
  assert.match(await said('['), /package\.json is missing or not JSON/)
})

hostile('is called by what is known of it, and not by where it was unpacked', async () => {
  await using root = await tempDir()
  const { key, entry } = await keyOf(root.path, 'alice')
  const files = await filesOf(await signedPackage(root.path, key))
  const archiveOf = async (name: string, text: string): Promise<Buffer> =>
    gzipSync(await tarOf(new Map([...files, [name, Buffer.from(text)] as const])))
  assert.match(
    await refusal(root.path, await archiveOf('plugin.js', ''), [entry]),
    /plugin sample failed .* not what was signed/,
  )
  assert.match(
    await refusal(root.path, await archiveOf('package.json', '{'), [entry]),
    /plugin of the package failed /,
  )
  const file = join(root.path, 'torn.tgz')
  await writeFile(file, await archiveOf('package.json', '{'))
  const policy = { trust: [entry], allow_unsigned: false }
  const said = await installPlugin(file, join(root.path, 'plugins'), { policy }).catch(String)
  assert.match(String(said), /plugin torn\.tgz failed /)
})

hostile('waits for the one before: many at once take the memory of one', async () => {
  let [open, most] = [0, 0]
  const archive = gzipSync(await tarOf(new Map([['a', Buffer.alloc(0)]])))
  const one = (): Promise<void> =>
    withUnpackedBytes('of the package', archive, async (dir) => {
      open += 1
      most = Math.max(most, open)
      assert.equal(await readdir(dir), ['a'])
      open -= 1
    })
  const torn = withUnpackedBytes('of the package', Buffer.alloc(9), async () => undefined)
  await Promise.all([one(), torn.catch(() => undefined), one(), one()])
  assert.is(most, 1)
})

hostile('folder with a signature is taken as a whole, and not through links', async () => {
  await using root = await tempDir()
  const { key, entry } = await keyOf(root.path, 'alice')
  const dir = await writeBuilt(root.path, 'folder')
  const files = await filesOf(await signedPackage(root.path, key, 'folder'))
  for (const [name, bytes] of files) await writeFile(join(dir, name), bytes)
  const policy = { trust: [entry], allow_unsigned: false }
  await symlink('/etc/hostname', join(dir, 'more'))
  const said = await installPlugin(dir, join(root.path, 'plugins'), { policy }).catch(String)
  assert.match(String(said), /more is a link or no file/)
})

hostile.run()
