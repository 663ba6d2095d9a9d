// Writes src/api.ts before the build: the types of what a service with all plugins documents. It is made of their sources,
// since what a page or a command of a plugin is made of may need the client, and no build waits for itself.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
// @boundaries-ignore it builds before this one, and is no part of what the client becomes
import { startTestbed } from '../../../testing/testbed/dist/index.js'
import { apiSource } from './api-source.mjs'

const packages = fileURLToPath(new URL('../..', import.meta.url))
/** A page that is made with the client, and has no operation of the API. */
const LEFT_OUT = 'console'

const folders = readdirSync(packages)
  .filter((name) => name !== LEFT_OUT)
  .map((name) => join(packages, name))
const plugins = await Promise.all(folders.flatMap((folder) => pluginOf(folder) ?? []))
const testbed = await startTestbed({ plugins })
try {
  const { body } = await testbed.request('GET', '/v1/openapi.json')
  writeFileSync(new URL('../src/api.ts', import.meta.url), apiSource(body))
} finally {
  await testbed.stop()
}

/** The plugin of a package as a test bed takes it; undefined for a package that is none. */
function pluginOf(folder) {
  if (!existsSync(join(folder, 'package.json'))) return undefined
  const { name, version, steeple: manifest } = readJson(folder, 'package.json')
  if (manifest === undefined) return undefined
  const schema = manifest.config === undefined ? undefined : readJson(folder, manifest.config)
  return import(join(folder, 'src/plugin.ts')).then(({ plugin }) => ({
    name,
    version,
    manifest,
    plugin,
    ...(schema === undefined ? {} : { schema }),
  }))
}

function readJson(folder, file) {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'))
}
