import type { Page } from '../../app/pages.ts'

/** The other boxes. */
export const meshPages: readonly Page[] = [
  {
    path: '/mesh',
    title: 'mesh.title',
    role: 'viewer',
    feature: 'mesh',
    group: 'network',
    place: 40,
    load: () => import('./mesh.tsx'),
  },
]
