import type { Page } from '../../app/pages.ts'

/** What the configuration says, and how to change it. */
export const settingsPages: readonly Page[] = [
  {
    path: '/settings',
    title: 'settings.title',
    role: 'admin',
    group: 'box',
    place: 20,
    load: () => import('./settings.tsx'),
  },
]
