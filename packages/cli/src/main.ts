#!/usr/bin/env -S node --max-semi-space-size=8
// Whatever starts this does it by the line above, so that what it needs of node from its first moment on stands in one place: the young
// generation grows to 48 MB otherwise and is not given back, a third of what the service has at rest.
import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { compileLate } from './compile-late.ts'
import { findOwnModules } from './own-modules.ts'
import { serviceFlagsOf } from './service-arguments.ts'

// Whoever imports node:http gets these too, and node loads the whole of its fetch for them: 70 ms of each start, for nobody.
for (const name of ['WebSocket', 'CloseEvent', 'MessageEvent'])
  Reflect.deleteProperty(process.getBuiltinModule('node:http'), name)
// A command is over before it would matter.
if (serviceFlagsOf(process.argv.slice(2)) !== undefined) {
  compileLate()
  findOwnModules()
}
// What lies in it is run. The build of a checkout makes the folder, beside the program and as hard to write to; there is none elsewhere.
// Node keeps apart in it what was compiled with other flags.
const compiled = join(import.meta.dirname, '../.compiled')
if (existsSync(compiled)) enableCompileCache(compiled)
await import('./command.ts')
