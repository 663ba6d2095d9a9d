import type { Page } from '../../app/pages.ts'

const FEATURE = 'esim-smdp'

/** eSIM: activation codes, the chips that have them, certificates; and cards to print. */
export const esimPages: readonly Page[] = [
  {
    path: '/esim',
    title: 'esim.title',
    role: 'viewer',
    feature: FEATURE,
    group: 'people',
    load: () => import('./esim.tsx'),
  },
  {
    path: '/esim/cards',
    title: 'esim.cards.title',
    role: 'sim:issuer',
    feature: FEATURE,
    load: () => import('./cards.tsx'),
  },
]
