import { may } from '../api/session.ts'
import { t } from '../text/index.ts'
import { GROUPS } from './groups.ts'
import type { Page } from './pages.ts'
import { pagesOfPlugins } from './plugin-pages.tsx'
import { match } from './router.ts'

/** All pages, once `main` has said them: pages themselves ask here, and must not load the list. */
let all: readonly Page[] = []

/** Says which pages there are. */
export function knowPages(pages: readonly Page[]): void {
  all = pages
}

/** The pages that who is signed in may see, of the parts that the box has, in the order of the menu. */
export function pagesHere(): readonly Page[] {
  return [...all, ...pagesOfPlugins()]
    .filter(({ role }) => may(role))
    .sort((one, other) => orderOf(one) - orderOf(other))
}

const LAST = 1000

/** A path that is said whole goes before a pattern: `/sims/import` is no SIM. */
function orderOf({ path, group, place = LAST }: Page): number {
  if (group !== undefined) return GROUPS.indexOf(group) * LAST + place
  return path.includes(':') ? GROUPS.length * LAST : -1
}

/** The page at a path for who is signed in. */
export function pageAt(path: string): Page | undefined {
  return fitting(pagesHere(), path)
}

/** Whether there is a page at a path, which the roles of who is signed in do not open. */
export function isForOthers(path: string): boolean {
  return pageAt(path) === undefined && fitting([...all, ...pagesOfPlugins()], path) !== undefined
}

/** A path of its own is no value of a pattern, for nobody: `/sims/import`. */
function fitting(pages: readonly Page[], path: string): Page | undefined {
  const isOfItsOwn = [...all, ...pagesOfPlugins()].some((page) => page.path === path)
  return pages.find((page) => (isOfItsOwn ? page.path === path : match(page.path, path) !== undefined))
}

/** A path when there is a page at it for who is signed in; undefined otherwise: no link leads nowhere. */
export function ifPage(path: string): string | undefined {
  return pageAt(path) === undefined ? undefined : path
}

/** The name of a page in the reader's language. */
export function titleOf({ title }: Pick<Page, 'title'>): string {
  return typeof title === 'string' ? t(title) : title.text
}

/** The page where such an incident, or what an alert of such a rule tells of, is looked at and mended. */
export function pageThatMends(what: string): Page | undefined {
  return pagesHere().find(({ mends }) => mends?.includes(what) === true)
}
