import type { Page } from '../../app/pages.ts'

/** The core: what runs, what a change of it would do, and where the node stands. */
export const corePages: readonly Page[] = [
  {
    path: '/core',
    title: 'core.title',
    role: 'viewer',
    group: 'network',
    place: 30,
    load: () => import('./core.tsx'),
  },
]
