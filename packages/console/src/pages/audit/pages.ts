import type { Page } from '../../app/pages.ts'

/** Who did what, and whether the trail still holds what was written. */
export const auditPages: readonly Page[] = [
  {
    path: '/audit',
    title: 'audit.title',
    role: 'operator',
    group: 'care',
    place: 10,
    load: () => import('./audit.tsx'),
  },
]
