import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { isServiceError } from '@steeple/contracts'
import { assert, suite, tempDir } from '@steeple/testkit'
import { installPackage, installPlugin } from '../src/install.ts'
import { tarOf } from '../src/tar.ts'
import { filesOf, keyOf, signedPackage, writeBuilt } from './signed-package.ts'

const hostile = suite('plugin-packages/hostile-package')
/** Entries of an archive that are no files. POSIX.1-2017, pax, "ustar Interchange Format", typeflag. */
const LINKS = { hard: '1', symbolic: '2', device: '3', folder: '5', pipe: '6' } as const

/** An archive whose entries of some names have another type, or are called otherwise. */
function changed(archive: Buffer, change: (name: string, header: Buffer) => void): Buffer {
  const copy = Buffer.from(archive)
  for (let at = 0; copy[at] !== 0; ) {
    const header = copy.subarray(at, at + 512)
    const size = Number.parseInt(header.toString('utf8', 124, 135), 8)
    change(header.toString('utf8', 0, header.indexOf(0)), header)
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
      const archive = changed(tarOf(files), (name, header) => {
        if (name === `package/${file}`) header.write(type, 156)
      })
      const said = await refusal(root.path, gzipSync(archive), [entry])
      assert.match(said, /^plugin_failed .*(is missing|not what was signed|not signed)/, `${what} ${file}`)
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
    const archive = changed(tarOf(files), (name, header) => {
      if (name === 'package/README.md') header.write(`${to}\0`)
    })
    assert.match(await refusal(root.path, gzipSync(archive), [entry]), /not what was signed/, to)
  }
  // A name that comes twice: what is written last is what is looked at.
  const twice = Buffer.concat([
    tarOf(new Map([['plugin.js', Buffer.from('evil')]])).subarray(0, 1024),
    tarOf(files),
  ])
  assert.is(await refusal(root.path, gzipSync(twice), [entry]), 'installed')
  const [folder = ''] = (await readdir(join(root.path, 'plugins'))).filter((name) =>
    name.startsWith('sample@'),
  )
  const program = await readFile(join(root.path, 'plugins', folder, 'plugin.js'))
  assert.ok(program.equals(files.get('plugin.js') ?? Buffer.alloc(0)))
  assert.equal(
    (await readdir(root.path)).filter((name) => name !== 'plugins'),
    before,
  )
})

hostile('is not unpacked beyond what a plugin can be', async () => {
  await using root = await tempDir()
  const { entry } = await keyOf(root.path, 'alice')
  const bomb = gzipSync(Buffer.alloc(65 * 1024 * 1024))
  assert.match(await refusal(root.path, bomb, [entry]), /^plugin_failed .*cannot be unpacked/)
  const many = new Map(Array.from({ length: 1001 }, (_, at) => [`f${at}`, Buffer.alloc(0)]))
  assert.match(
    await refusal(root.path, gzipSync(tarOf(many)), [entry]),
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
