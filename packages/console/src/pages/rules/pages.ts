import type { Page } from '../../app/pages.ts'

/** What everybody has to keep to: licence, frequencies, APNs, limits. */
export const rulesPages: readonly Page[] = [
  {
    path: '/rules',
    title: 'rules.title',
    role: 'viewer',
    group: 'network',
    place: 20,
    load: () => import('./rules.tsx'),
  },
]
