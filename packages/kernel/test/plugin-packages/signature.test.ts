import { cp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { isServiceError, makeSigningKey, readSigningKey } from '@steeple/contracts'
import { assert, suite, tempDir } from '@steeple/testkit'
import { type PluginSources, scanSources } from '../../src/plugin-packages/catalogue.ts'
import { installPackage, installPlugin } from '../../src/plugin-packages/install.ts'
import { packPlugin } from '../../src/plugin-packages/pack.ts'
import { keyId } from '../../src/plugin-packages/trust.ts'
import { filesOf, keyOf, rewrite, signedPackage, writeBuilt } from './signed-package.ts'

const signature = suite('plugin-packages/signature')

/** What a start would make of a plugins directory: who has signed what it would load, and why it leaves the others alone. */
async function look(
  pluginsDir: string,
  trust: readonly string[],
  allow = false,
  adopt?: PluginSources['adopt'],
) {
  const policy = () => ({ trust, allow_unsigned: allow })
  const { found, rejected } = await scanSources({
    packages: [],
    pluginsDir,
    policy,
    ...(adopt === undefined ? {} : { adopt }),
  })
  return { signers: found.map((one) => one.signedBy), reasons: rejected.map(({ reason }) => reason) }
}

/** Why a package is not installed; `installed` when it is. */
async function refusal(file: string, pluginsDir: string, trust: readonly string[], allow = false) {
  return await installPlugin(file, pluginsDir, { policy: { trust, allow_unsigned: allow } }).then(
    () => 'installed',
    (error: unknown) => (isServiceError(error) ? error.message : `raw ${String(error)}`),
  )
}

signature('packs the same octets twice, and installs them as they were signed', async () => {
  await using root = await tempDir()
  const { key, entry } = await keyOf(root.path, 'alice')
  const file = await signedPackage(root.path, key)
  const first = await readFile(file)
  assert.is(await signedPackage(root.path, key), file)
  assert.ok(first.equals(await readFile(file)))
  const files = await filesOf(file)
  const names = ['README.md', 'config.schema.json', 'package.json', 'plugin.js', 'signature.json']
  assert.equal([...files.keys()], names)
  const pluginsDir = join(root.path, 'plugins')
  const { dir } = await installPackage(first, pluginsDir, {
    policy: { trust: [entry], allow_unsigned: false },
  })
  for (const name of names) assert.ok(files.get(name)?.equals(await readFile(join(dir, name))))
  assert.equal(await look(pluginsDir, [entry]), {
    signers: [`alice (${keyId(key.publicKey)})`],
    reasons: [],
  })
})

signature(
  'keeps a private key to its owner, and takes none that others may read or that is another kind',
  async () => {
    await using root = await tempDir()
    const file = join(root.path, 'own.key')
    const made = await makeSigningKey(file)
    assert.is((await stat(file)).mode & 0o777, 0o600)
    assert.is((await readSigningKey(file)).publicKey, made.publicKey)
    assert.match(made.publicKey, /^ed25519:[A-Za-z0-9_-]{43}$/)
    assert.match(keyId(made.publicKey), /^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/)
    assert.match(String(await makeSigningKey(file).catch(String)), /EEXIST/)
    const text = await readFile(file, 'utf8')
    await writeFile(join(root.path, 'open.key'), text, { mode: 0o644 })
    assert.match(
      String(await readSigningKey(join(root.path, 'open.key')).catch(String)),
      /open\.key may be read by others; run: chmod 600/,
    )
    await writeFile(join(root.path, 'torn.key'), text.slice(0, 60), { mode: 0o600 })
    const torn = String(await readSigningKey(join(root.path, 'torn.key')).catch(String))
    assert.match(torn, /torn\.key holds no Ed25519 private key/)
    assert.not.match(String(torn), text.slice(30, 50))
    assert.match(String(await readSigningKey(root.path).catch(String)), /is no key file|cannot be read/)
  },
)

signature("refuses what nobody has signed, and whose key is nobody's, and says what to do", async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  const { key, entry } = await keyOf(root.path, 'alice')
  const other = await keyOf(root.path, 'mallory')
  const plain = (await packPlugin(await writeBuilt(root.path, 'plain'), { out: root.path })).file
  assert.match(await refusal(plain, pluginsDir, [entry]), 'it is not signed: svc plugin pack signs it')
  const file = await signedPackage(root.path, other.key)
  const foreign = await refusal(file, pluginsDir, [entry])
  assert.match(foreign, `signed with the key ${keyId(other.key.publicKey)}, which is not in plugins.trust`)
  // A name is the operator's word, never the package's.
  assert.not.match(foreign, 'mallory')
  assert.is(
    await refusal(file, pluginsDir, [other.entry.replace(other.key.publicKey, key.publicKey)]),
    foreign,
  )
  assert.equal(await look(pluginsDir, [entry]), { signers: [], reasons: [] })
})

signature(
  'refuses whatever was changed after it was signed, also where unsigned ones are allowed',
  async () => {
    await using root = await tempDir()
    const pluginsDir = join(root.path, 'plugins')
    const { key, entry } = await keyOf(root.path, 'alice')
    const other = await keyOf(root.path, 'mallory')
    const another = await filesOf(await signedPackage(root.path, key, 'another', '2.0.0'))
    const foreign = await filesOf(await signedPackage(root.path, other.key, 'sample', '1.0.0'))
    const of = (files: ReadonlyMap<string, Buffer>, name: string): Buffer =>
      files.get(name) ?? Buffer.alloc(0)
    const changes: Readonly<Record<string, (files: Map<string, Buffer>) => void>> = {
      'another program': (files) => files.set('plugin.js', Buffer.from('export const plugin = {}')),
      'another manifest': (files) =>
        files.set(
          'package.json',
          Buffer.from(String(files.get('package.json')).replace('overlap', 'exclusive')),
        ),
      'a swapped manifest': (files) => files.set('package.json', of(another, 'package.json')),
      'the signature of another plugin': (files) =>
        files.set('signature.json', of(another, 'signature.json')),
      'a file more': (files) => files.set('more.js', Buffer.from('')),
      'a file less': (files) => files.delete('README.md'),
      'another schema': (files) => files.set('config.schema.json', Buffer.from('{"properties": {"a": {}}}')),
      'the key replaced': (files) =>
        files.set(
          'signature.json',
          Buffer.from(String(files.get('signature.json')).replace(other.key.publicKey, key.publicKey)),
        ),
      'no signature in it': (files) => files.set('signature.json', Buffer.from('{}')),
      'other names for the same': (files) => {
        files.set('readme.md', of(files, 'README.md'))
        files.delete('README.md')
      },
    }
    for (const [what, change] of Object.entries(changes)) {
      const file = await signedPackage(root.path, what === 'the key replaced' ? other.key : key)
      await rewrite(file, change)
      for (const allow of [false, true]) {
        const reason = await refusal(file, pluginsDir, [entry, other.entry], allow)
        assert.match(reason, /not what was signed|does not fit|is none that svc plugin pack made/, what)
      }
    }
    assert.ok(foreign.size > 0)
    assert.equal(await look(pluginsDir, [entry]), { signers: [], reasons: [] })
  },
)

signature('asks at each look whether the key is trusted still', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  const { key, entry } = await keyOf(root.path, 'alice')
  const file = await signedPackage(root.path, key)
  assert.is(await refusal(file, pluginsDir, [entry]), 'installed')
  const { signers, reasons } = await look(pluginsDir, [])
  assert.equal(signers, [])
  assert.match(reasons[0] ?? '', 'which is not in plugins.trust')
  assert.equal((await look(pluginsDir, [entry])).reasons, [])
})

signature(
  'lets a folder in that was put there by hand only with a signature, or while the setting allows it',
  async () => {
    await using root = await tempDir()
    const { key, entry } = await keyOf(root.path, 'alice')
    const policy = { trust: [], allow_unsigned: true }
    const made = await installPlugin(await writeBuilt(root.path, 'plain'), join(root.path, 'other'), {
      policy,
    })
    const pluginsDir = join(root.path, 'plugins')
    await cp(made.dir, join(pluginsDir, basename(made.dir)), { recursive: true })
    const record = new Map<string, string>()
    const adopt = (folder: string, text: string): void => void record.set(folder, text)
    assert.match((await look(pluginsDir, [entry], false, adopt)).reasons[0] ?? '', 'it is not signed')
    assert.is(record.size, 0)
    assert.equal((await look(pluginsDir, [entry], true, adopt)).signers, [undefined])
    assert.match([...record.values()][0] ?? '', 'while-unsigned-is-allowed')
    await writeFile(join(pluginsDir, 'contents.json'), JSON.stringify(Object.fromEntries(record)))
    assert.match((await look(pluginsDir, [entry])).reasons[0] ?? '', 'it is not signed')
    // Somebody says it of this one.
    await installPlugin(await writeBuilt(root.path, 'plain'), pluginsDir, { policy })
    assert.equal((await look(pluginsDir, [entry])).signers, [undefined])
    await rm(pluginsDir, { recursive: true })
    const signed = await installPlugin(await signedPackage(root.path, key), join(root.path, 'third'), {
      policy: { trust: [entry], allow_unsigned: false },
    })
    await cp(signed.dir, join(pluginsDir, basename(signed.dir)), { recursive: true })
    assert.equal((await look(pluginsDir, [entry])).signers.length, 1)
  },
)

signature('refuses another manifest beside a program that is installed, signed or not', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  const { key, entry } = await keyOf(root.path, 'alice')
  const file = await signedPackage(root.path, key)
  assert.is(await refusal(file, pluginsDir, [entry]), 'installed')
  assert.is(await refusal(file, pluginsDir, [entry]), 'installed')
  const other = await keyOf(root.path, 'bob')
  const again = await signedPackage(root.path, other.key)
  assert.match(await refusal(again, pluginsDir, [entry, other.entry]), /with other files beside it/)
})

signature('dates and owns the files of a package as npm does', async () => {
  await using root = await tempDir()
  const { key } = await keyOf(root.path, 'alice')
  const file = await signedPackage(root.path, key)
  await rename(file, join(root.path, 'elsewhere.tgz'))
  const archive = await promisify(gunzip)(await readFile(join(root.path, 'elsewhere.tgz')))
  assert.is(archive.toString('utf8', 0, 17), 'package/README.md')
  assert.is(archive.toString('latin1', 257, 265), 'ustar\x0000')
})

signature.run()
