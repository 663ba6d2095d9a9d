import { chmod, chown, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { type InstalledPlugin, installPlugin } from '../../src/plugin-packages/install.ts'
import { createContentRecord } from '../../src/plugin-packages/trust.ts'
import { failureOf, loadedHost, recordOf } from './test-host.ts'
import { ANYBODY, writePlugin } from './test-plugin.ts'

const trust = suite('kernel/plugins/trust')

interface Place {
  readonly dataDir: string
  readonly pluginsDir: string
  readonly installed: InstalledPlugin
}

/** An installed plugin in the data directory of a service. */
async function inPlace(work: (place: Place) => Promise<void>): Promise<void> {
  await using root = await tempDir()
  const dataDir = join(root.path, 'data')
  const pluginsDir = join(dataDir, 'plugins')
  await mkdir(dataDir, { mode: 0o700 })
  const installed = await installPlugin(await writePlugin(root.path), pluginsDir, ANYBODY)
  await work({ dataDir, pluginsDir, installed })
}

/** Why the plugin is not loaded at a start; empty when it is. */
async function refusal(pluginsDir: string): Promise<string> {
  await using host = await loadedHost({ packages: [], pluginsDir })
  const { state, error } = recordOf(host, 'sample')
  assert.is(state, error === undefined ? 'running' : 'rejected')
  return error ?? ''
}

trust('loads what only root and the service may change', async () => {
  await inPlace(async ({ pluginsDir }) => assert.is(await refusal(pluginsDir), ''))
})

trust(
  'refuses what group or others may change: file, folder, plugins directory and each one above it',
  async () => {
    await inPlace(async ({ dataDir, pluginsDir, installed: { dir } }) => {
      const root = join(dataDir, '..')
      for (const path of [
        join(dir, 'plugin.js'),
        join(dir, 'package.json'),
        dir,
        pluginsDir,
        dataDir,
        root,
      ]) {
        for (const bits of [0o020, 0o002]) {
          await chmod(path, 0o700 | bits)
          const mode = `07${bits.toString(8).padStart(2, '0')}`
          assert.match(
            await refusal(pluginsDir),
            `may be changed by others (mode ${mode}); run: chmod go-w `,
            path,
          )
          await chmod(path, 0o700)
        }
      }
      assert.is(await refusal(pluginsDir), '')
    })
  },
)

trust('takes a directory above in which nobody can rename what is not his', async () => {
  await inPlace(async ({ dataDir, pluginsDir }) => {
    await chmod(join(dataDir, '..'), 0o1777)
    assert.is(await refusal(pluginsDir), '')
  })
})

trust('refuses a plugins directory that is a link, and links in a folder', async () => {
  await inPlace(async ({ dataDir, pluginsDir, installed: { dir } }) => {
    await symlink('/etc/hostname', join(dir, 'more.txt'))
    assert.match(await refusal(pluginsDir), /more\.txt is a link or no file/)
    await rm(join(dir, 'more.txt'))
    await rename(pluginsDir, join(dataDir, 'elsewhere'))
    await symlink(join(dataDir, 'elsewhere'), pluginsDir)
    assert.match(await refusal(pluginsDir), /plugins is a symbolic link; make it a folder/)
  })
})

trust('refuses what belongs to somebody else', async () => {
  // Only root can give a file away; for anybody else what belongs to root is what cannot be given.
  const isRoot = process.getuid?.() === 0
  await inPlace(async ({ pluginsDir, installed: { dir } }) => {
    if (!isRoot) {
      assert.is(await refusal(pluginsDir), '')
      return
    }
    for (const path of [join(dir, 'plugin.js'), dir, pluginsDir]) {
      await chown(path, 1234, 1234)
      assert.match(await refusal(pluginsDir), /belongs to user 1234, who is neither root nor the service/)
      await chown(path, 0, 0)
    }
  })
})

trust('refuses a manifest that was changed after the install, and a file that was added', async () => {
  await inPlace(async ({ pluginsDir, installed: { dir } }) => {
    const path = join(dir, 'package.json')
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.replace('"overlap"', '"exclusive"'))
    assert.match(await refusal(pluginsDir), /not the ones that were installed: their SHA-256 is another/)
    await writeFile(path, text)
    assert.is(await refusal(pluginsDir), '')
    await writeFile(join(dir, 'more.js'), '')
    assert.match(await refusal(pluginsDir), /not the ones that were installed/)
  })
})

trust('puts an install of before the record on record, and holds it to that', async () => {
  await inPlace(async ({ pluginsDir, installed: { dir } }) => {
    await rm(join(pluginsDir, 'contents.json'))
    assert.is(await refusal(pluginsDir), '')
    assert.match(
      (await createContentRecord(pluginsDir).read()).get(basename(dir)) ?? '',
      /^[0-9a-f]{64} while-unsigned-is-allowed$/,
    )
    const path = join(dir, 'package.json')
    await writeFile(path, (await readFile(path, 'utf8')).replace('"overlap"', '"exclusive"'))
    assert.match(await refusal(pluginsDir), /not the ones that were installed/)
  })
})

trust('installs nothing where others may change it, nor over what was changed', async () => {
  await inPlace(async ({ dataDir, pluginsDir, installed: { dir } }) => {
    const source = await writePlugin(join(dataDir, '..'))
    await writeFile(join(dir, 'more.js'), '')
    const changed = await failureOf(() => installPlugin(source, pluginsDir, ANYBODY))
    assert.match(changed.message, /is not as it was installed .*remove that folder/)
    await chmod(dataDir, 0o777)
    const open = await failureOf(() => installPlugin(source, pluginsDir, ANYBODY))
    assert.match(open.message, /data may be changed by others \(mode 0777\); run: chmod go-w/)
  })
})

trust.run()
