// uvu passes silently when a test file forgets `.run()`, and so would a skipped or exclusive test.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, workspaceFolders } from './workspace.mjs'

const faults = []
for (const folder of workspaceFolders())
  if (existsSync(join(root, folder, 'test'))) visit(join(folder, 'test'))
for (const fault of faults) process.stderr.write(`${fault}\n`)
process.exit(faults.length === 0 ? 0 : 1)

function visit(folder) {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true, recursive: false })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) visit(path)
    else if (entry.name.endsWith('.test.ts')) inspect(path)
  }
}

function inspect(path) {
  const text = readFileSync(join(root, path), 'utf8')
  if (!/^(\w+|\}\))\.run\(\)$/m.test(text) && !/Conformance\(/.test(text))
    faults.push(`${path}: no suite is run; end the file with <suite>.run()`)
  if (/\.(skip|only)\(/.test(text)) faults.push(`${path}: skipped or exclusive test`)
  if (!/\b(assert|fc)\b/.test(text) && !/Conformance\(/.test(text)) faults.push(`${path}: asserts nothing`)
}
