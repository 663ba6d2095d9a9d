import { posix } from 'node:path'
import type { Documentation } from './pages.ts'

/** Where a link of a page goes. */
export type Target =
  /** Another host, a place on this page, the service beside the site. */
  | { readonly kind: 'as it is' }
  /** A page of the site, or a file in it: from the folder of the documentation. */
  | { readonly kind: 'page' | 'file'; readonly path: string; readonly anchor: string }
  /** A file of the repository, which the site has not. From the root. */
  | { readonly kind: 'outside'; readonly path: string }
  /** Nothing that this documentation has. */
  | { readonly kind: 'nowhere'; readonly path: string }

/** Says where a link on a page goes. `from` and paths of pages are from the folder of the documentation. */
export function targetOf(href: string, from: string, { pages, files }: Documentation): Target {
  if (/^[a-z]+:|^#|^\//.test(href)) return { kind: 'as it is' }
  const [way = '', anchor = ''] = href.split('#')
  const path = posix.normalize(posix.join('docs', posix.dirname(from), way))
  if (!path.startsWith('docs/')) return { kind: 'outside', path }
  const inside = path.slice('docs/'.length)
  const page = [inside, posix.join(inside, 'README.md')].find((one) => pages.has(one))
  if (page !== undefined) return { kind: 'page', path: page, anchor }
  if (files.includes(inside)) return { kind: 'file', path: inside, anchor }
  return { kind: 'nowhere', path }
}

/** The file of a page in the site: `how-to/sims.md` is `how-to/sims.html`, and a `README.md` the `index.html` of its folder. */
export function htmlOf(path: string): string {
  return path.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html')
}

/** The way from one page of the site to a file of it. */
export function wayTo(target: string, from: string): string {
  return posix.relative(posix.dirname(htmlOf(from)), target)
}

/** Names of headings as GitHub makes them, so that links hold there and here. One for each page: it numbers those that repeat. */
export function slugger(): (heading: string) => string {
  const seen = new Map<string, number>()
  return (heading) => {
    const plain = heading
      .toLowerCase()
      .trim()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(plain) ?? 0
    seen.set(plain, count + 1)
    return count === 0 ? plain : `${plain}-${count}`
  }
}
