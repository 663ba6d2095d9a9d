import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What somebody writes who automates a box: TypeScript that Node runs as it is. */
const PROGRAM = `import { createClient, dataOf, type ItemOf } from '@steeple/client'

const steeple = createClient({ url: process.env.SVC_URL ?? '', token: process.env.SVC_ADMIN_TOKEN ?? '' })
const { issued } = dataOf(await steeple.post('/v1/sims', { body: { count: 2, label: 'from a script' } }))
const found: ItemOf<'/v1/sims'>[] = []
for await (const sim of steeple.rows('/v1/sims', { query: { limit: 1 } })) found.push(sim)
const missing = await steeple.get('/v1/sims/{imsi}', { path: { imsi: '0123456789ab' } })
console.log('issued', issued, 'found', found.filter(({ label }) => label === 'from a script').length)
if (!missing.ok) console.log('problem', missing.error.code)
`
/** What no service has. */
const WRONG = `import { createClient } from '@steeple/client'

const steeple = createClient({ url: '' })
await steeple.get('/v1/moon')
await steeple.post('/v1/sims', { body: { count: 'two' } })
`
const OPTIONS = { target: 'es2023', types: ['node'], strict: true, noEmit: true, skipLibCheck: false }
/** How programs find what they import: as Node does, without anything of a browser, and as what bundles for one. */
const WAYS = {
  node: { ...OPTIONS, module: 'nodenext', lib: ['es2023'] },
  page: { ...OPTIONS, module: 'esnext', moduleResolution: 'bundler', lib: ['es2023', 'dom', 'dom.iterable'] },
} as const

/** Makes the project of somebody who knows nothing but the package, in an empty folder. */
export function writeClientProject(dir: string): void {
  mkdirSync(dir)
  const put = (name: string, content: string | object): void =>
    writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content))
  put('package.json', { name: 'automation', private: true, type: 'module' })
  put('program.ts', PROGRAM)
  put('wrong.ts', WRONG)
  for (const [name, compilerOptions] of Object.entries(WAYS)) {
    put(`tsconfig.${name}.json`, { compilerOptions, files: ['program.ts'] })
    put(`tsconfig.${name}.wrong.json`, { compilerOptions, files: ['wrong.ts'] })
  }
}
