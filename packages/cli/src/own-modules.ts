import { type ResolveHookSync, registerHooks } from 'node:module'

/** The folder of our packages, as an address begins with it: `packages/` of a checkout, `@steeple/` of a build. */
const OURS = new URL('../../', import.meta.url).href
const PACKAGE = /^@steeple\/[^/]+$/
/** A program beside the one that loads it, by its path or address. */
const PROGRAM = /^(?:\.{1,2}\/|file:).+\.m?js(?:\?|$)/

/**
 * Has node find the modules of our own packages without a search. It looks from each module anew, in the manifests and along the links
 * on the way, which is a twentieth of a start; ours say where things are, and there is one copy of each package.
 */
export function findOwnModules(): void {
  registerHooks({ resolve: resolveOwn() })
}

/** What is imported by whom else, or not by rule, is left to `next`. */
export function resolveOwn(): ResolveHookSync {
  const packages = new Map<string, ReturnType<ResolveHookSync>>()
  return (specifier, context, next) => {
    const { parentURL } = context
    if (parentURL === undefined || !isOurs(parentURL)) return next(specifier, context)
    if (specifier.startsWith('node:')) return { url: specifier, format: 'builtin', shortCircuit: true }
    if (PACKAGE.test(specifier)) {
      const known = packages.get(specifier)
      if (known !== undefined) return known
      const { url, format } = next(specifier, context)
      const found = { url, format, shortCircuit: true }
      packages.set(specifier, found)
      return found
    }
    if (!PROGRAM.test(specifier)) return next(specifier, context)
    const url = new URL(specifier, parentURL).href
    return isOurs(url) ? { url, format: 'module', shortCircuit: true } : next(specifier, context)
  }
}

/** Not what others have put into a folder of ours. */
function isOurs(url: string): boolean {
  return url.startsWith(OURS) && !url.includes('/node_modules/', OURS.length)
}
