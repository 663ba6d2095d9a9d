import type { ComponentType } from 'preact'
import type { Role } from '../api/session.ts'
import { accountPages } from '../pages/account/pages.ts'
import { alertsPages } from '../pages/alerts/pages.ts'
import { auditPages } from '../pages/audit/pages.ts'
import { backupPages } from '../pages/backup/pages.ts'
import { corePages } from '../pages/core/pages.ts'
import { esimPages } from '../pages/esim/pages.ts'
import { homePages } from '../pages/home/pages.ts'
import { meshPages } from '../pages/mesh/pages.ts'
import { peoplePages } from '../pages/people/pages.ts'
import { pluginsPages } from '../pages/plugins/pages.ts'
import { radioPages } from '../pages/radio/pages.ts'
import { rulesPages } from '../pages/rules/pages.ts'
import { sessionsPages } from '../pages/sessions/pages.ts'
import { settingsPages } from '../pages/settings/pages.ts'
import { simsPages } from '../pages/sims/pages.ts'
import { startPages } from '../pages/start/pages.ts'
import { subscriberPages } from '../pages/subscriber/pages.ts'
import { systemPages } from '../pages/system/pages.ts'
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
  /** The plugin without which there is none of it, by its id. */
  readonly feature?: string
  /** Where it stands in the menu; absent: it is reached from another page. */
  readonly group?: Group
  readonly load: () => Promise<{ readonly Page: ComponentType<PageProps> }>
}

/** All pages, in the order of the menu within each group. */
export const PAGES: readonly Page[] = [
  ...homePages,
  ...radioPages,
  ...rulesPages,
  ...simsPages,
  ...subscriberPages,
  ...sessionsPages,
  ...corePages,
  ...meshPages,
  ...alertsPages,
  ...auditPages,
  ...pluginsPages,
  ...settingsPages,
  ...systemPages,
  ...peoplePages,
  ...accountPages,
  ...backupPages,
  ...esimPages,
  ...startPages,
]
