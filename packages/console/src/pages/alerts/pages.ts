import type { Page } from '../../app/pages.ts'

/** What is wrong, who has been told, and who takes care. */
export const alertsPages: readonly Page[] = [
  {
    path: '/alerts',
    title: 'alerts.title',
    role: 'viewer',
    feature: 'alerts',
    group: 'now',
    place: 20,
    load: () => import('./alerts.tsx'),
  },
]
