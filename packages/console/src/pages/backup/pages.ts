import type { Page } from '../../app/pages.ts'

/** Backups, and the way back. */
export const backupPages: readonly Page[] = [
  {
    path: '/backup',
    title: 'backup.title',
    role: 'admin',
    feature: 'backup',
    group: 'care',
    place: 30,
    load: () => import('./backup.tsx'),
  },
]
