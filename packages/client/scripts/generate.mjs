/*
 * Writes src/api.ts from the OpenAPI document of a service.
 *
 *   node scripts/generate.mjs              of the build of this checkout, which it starts and ends
 *   node scripts/generate.mjs FILE         of a document in a file
 *   node scripts/generate.mjs --check FILE changes nothing; ends with 1 when src/api.ts is another
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiSource } from './api-source.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const target = join(here, '../src/api.ts')
const isCheck = process.argv.includes('--check')
const [file] = process.argv.slice(2).filter((one) => !one.startsWith('--'))
const source = apiSource(
  file === undefined ? await documentOfBuild() : JSON.parse(readFileSync(file, 'utf8')),
)

if (!isCheck) writeFileSync(target, source)
else if (readFileSync(target, 'utf8') !== source) {
  process.stderr.write(
    'packages/client/src/api.ts is not what the service documents: run node packages/client/scripts/generate.mjs\n',
  )
  process.exitCode = 1
}

async function documentOfBuild() {
  const dataDir = mkdtempSync(join(tmpdir(), 'steeple-client-'))
  const args = ['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0']
  const child = spawn(process.execPath, [join(here, '../../cli/dist/main.js'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  try {
    let printed = ''
    for await (const piece of child.stdout) {
      printed += piece
      const url = /"url":"(https?:\/\/[^"]+)"/.exec(printed)?.[1]
      if (url === undefined) continue
      child.stdout.resume()
      return await (await fetch(`${url}/v1/openapi.json`)).json()
    }
    throw new Error(`the service ended:\n${printed}`)
  } finally {
    child.kill('SIGTERM')
    await ended
    rmSync(dataDir, { recursive: true, force: true })
  }
}
