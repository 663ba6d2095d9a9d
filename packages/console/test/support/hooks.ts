/** Lets Node load what the build makes of pages: TSX, style sheets, texts, and the kit that pages of features are built on. */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'rolldown/utils'

const KIT = new URL('../../src/kit.ts', import.meta.url).href
const JSX = { runtime: 'automatic', importSource: 'preact' } as const

registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier === '@steeple/console/kit') return { url: KIT, shortCircuit: true }
    // Modules of plugins, as their manifests name them.
    const [, plugin, module] = /^\/([\w-]+)-files\/([\w-]+)\.js/.exec(specifier) ?? []
    if (plugin !== undefined)
      return {
        url: new URL(`../../../${plugin}/pages/${module}.tsx`, import.meta.url).href,
        shortCircuit: true,
      }
    // What the compiler makes of JSX asks for the console's own Preact, in pages of plugins too.
    return next(specifier, specifier.startsWith('preact') ? { ...context, parentURL: KIT } : context)
  },
  load: (url, context, next) => {
    const source = sourceOf(url)
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
  },
})

function sourceOf(url: string): string | undefined {
  if (url.endsWith('.css')) return 'export default ""'
  if (url.endsWith('.svg')) return 'export default ""'
  if (/\/texts\/(?:said\/)?\w+\.json$/.test(url))
    return `export default ${readFileSync(fileURLToPath(url), 'utf8')}`
  if (!url.endsWith('.tsx')) return undefined
  const { code, errors } = transformSync(fileURLToPath(url), readFileSync(fileURLToPath(url), 'utf8'), {
    jsx: JSX,
  })
  if (errors.length > 0) throw new Error(`${url}: ${errors.join('\n')}`)
  return code
}
