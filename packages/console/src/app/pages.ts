import type { ComponentType } from 'preact'
import type { Role } from '../api/session.ts'
import type { TextKey } from '../text/index.ts'
import type { IconName } from '../ui/icon.tsx'
import type { Group } from './groups.ts'

/** What a page is given: what its path has in the places of the pattern. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>
}

export interface Page {
  /** `/sims/:hash`: at most six segments, the first none of the service's (`v1`, `docs`, `console`, `metrics`, `gsma`). */
  readonly path: string
  /** Its name: a text of the console, or the one that a plugin gives. */
  readonly title: TextKey | { readonly text: string }
  /** The role without which it is not shown. */
  readonly role: Role
  /** Where it stands in the menu; absent: it is reached from another page. */
  readonly group?: Group
  /** Before its name in the menu. */
  readonly icon?: IconName
  /** Where in its group: 10 is above 20. Absent: last. */
  readonly place?: number
  /** The key that leads to it: for what is done each day. */
  readonly key?: string
  /** Kinds of incidents and rules of alerts that are looked at and mended there. */
  readonly mends?: readonly string[]
  readonly load: () => Promise<{ readonly Page: ComponentType<PageProps> }>
}

/** Pages of a group of the menu, in its order; what plugins add stands between them by its place. */
function inMenu(group: Group, pages: readonly Page[]): readonly Page[] {
  return pages.map((page, index) => ({ ...page, group, place: 10 * (index + 1) }))
}

/** The pages of the console itself, as the menu has them; each is loaded when it is first shown. */
export const PAGES: readonly Page[] = [
  ...inMenu('now', [
    {
      ...{ path: '/', title: 'home.title', role: 'viewer', icon: 'layout-dashboard', key: 'o' },
      load: () => import('../pages/home/home.tsx'),
    },
  ]),
  ...inMenu('people', [
    {
      ...{ path: '/sims', title: 'sims.title', role: 'viewer', icon: 'card-sim', key: 's' },
      mends: ['no_registration', 'nobody_attached', 'hss_push_failing'],
      load: () => import('../pages/sims/sims.tsx'),
    },
    {
      ...{ path: '/sessions', title: 'sessions.title', role: 'viewer', icon: 'smartphone', key: 'e' },
      mends: ['session_surge'],
      load: () => import('../pages/sessions/sessions.tsx'),
    },
  ]),
  ...inMenu('network', [
    {
      ...{ path: '/radio', title: 'radio.title', role: 'viewer', icon: 'radio-tower', key: 'r' },
      mends: [
        'cell_not_permitted',
        'cell_other_channel',
        'no_radio',
        'radio_refused',
        'no_radio_power',
        'tx_auto_disarmed',
      ],
      load: () => import('../pages/radio/radio.tsx'),
    },
    {
      ...{ path: '/rules', title: 'rules.title', role: 'viewer', icon: 'scale' },
      load: () => import('../pages/rules/rules.tsx'),
    },
    {
      ...{ path: '/core', title: 'core.title', role: 'viewer', icon: 'server' },
      mends: ['database_gone', 'no_core', 'other_network', 'core_degraded'],
      load: () => import('../pages/core/core.tsx'),
    },
  ]),
  ...inMenu('care', [
    {
      ...{ path: '/audit', title: 'audit.title', role: 'operator', icon: 'scroll-text' },
      load: () => import('../pages/audit/audit.tsx'),
    },
    {
      ...{ path: '/system', title: 'system.title', role: 'viewer', icon: 'heart-pulse' },
      load: () => import('../pages/system/system.tsx'),
    },
  ]),
  ...inMenu('box', [
    {
      ...{ path: '/plugins', title: 'plugins.title', role: 'admin', icon: 'puzzle' },
      load: () => import('../pages/plugins/plugins.tsx'),
    },
    {
      ...{ path: '/settings', title: 'settings.title', role: 'admin', icon: 'settings' },
      load: () => import('../pages/settings/settings.tsx'),
    },
    {
      ...{ path: '/people', title: 'people.title', role: 'admin', icon: 'users', key: 'p' },
      load: () => import('../pages/people/people.tsx'),
    },
    {
      ...{ path: '/account', title: 'account.title', role: 'viewer', icon: 'circle-user' },
      load: () => import('../pages/account/account.tsx'),
    },
    {
      ...{ path: '/start', title: 'start.title', role: 'admin', icon: 'list-checks' },
      load: () => import('../pages/start/start.tsx'),
    },
  ]),
  {
    ...{ path: '/people/:id', title: 'people.one', role: 'admin' },
    load: () => import('../pages/people/person.tsx'),
  },
  {
    ...{ path: '/plugins/:name', title: 'plugins.one', role: 'admin' },
    load: () => import('../pages/plugins/plugin.tsx'),
  },
  {
    ...{ path: '/sims/:hash', title: 'sim.title', role: 'viewer' },
    load: () => import('../pages/subscriber/subscriber.tsx'),
  },
  {
    ...{ path: '/sims/import', title: 'import.title', role: 'sim:issuer' },
    load: () => import('../pages/sims/import.tsx'),
  },
  {
    ...{ path: '/sims/foreign', title: 'foreign.title', role: 'viewer' },
    load: () => import('../pages/sims/foreign.tsx'),
  },
]
