import type { ComponentType } from 'preact'
import type { Role } from '../api/session.ts'
import type { TextKey } from '../text/index.ts'
import type { Group } from './groups.ts'

/** What a page is given: what its path has in the places of the pattern. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>
}

/** A page of the console. */
export interface Page {
  /** `/sims/:hash`: at most six segments, the first none of the service's (`v1`, `docs`, `console`, `metrics`, `gsma`). */
  readonly path: string
  /** Its name: a text of the console, or the one that a plugin gives. */
  readonly title: TextKey | { readonly text: string }
  /** The role without which it is not shown. */
  readonly role: Role
  /** Where it stands in the menu; absent: it is reached from another page. */
  readonly group?: Group
  /** Where in its group: 10 is above 20. Absent: last. */
  readonly place?: number
  readonly load: () => Promise<{ readonly Page: ComponentType<PageProps> }>
}

/** The pages of the console itself: each area's file is found by its name, `<area>/pages.ts`. */
export const PAGES: readonly Page[] = Object.values(
  import.meta.glob<Readonly<Record<string, readonly Page[]>>>('../pages/*/pages.ts', { eager: true }),
).flatMap((area) => Object.values(area).flat())
