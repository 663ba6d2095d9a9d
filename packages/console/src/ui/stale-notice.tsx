import type { ComponentChildren } from 'preact'
import { t } from '../text/index.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'
import type { Draft } from './use-draft.ts'

/** Says that somebody else was first, and lets choose; `children` say what they have set. */
export function StaleChoice({
  told = t('stale.told'),
  onKeep,
  onDrop,
  children,
}: {
  readonly told?: string | undefined
  readonly onKeep: () => void
  readonly onDrop: () => void
  readonly children: ComponentChildren
}) {
  return (
    <Notice tone="warn">
      <p>
        <strong>{told}</strong> {t('stale.kept')}
      </p>
      {children}
      <div class="actions">
        <Button onClick={onDrop}>{t('stale.drop')}</Button>
        <Button onClick={onKeep}>{t('stale.keep')}</Button>
      </div>
    </Notice>
  )
}

/** The same for a draft that is stale, with both values; nothing for one that is not. */
export function StaleNotice<Value>({
  draft,
  text,
  told,
  onChosen,
}: {
  readonly draft: Draft<Value>
  readonly text: (value: Value) => string
  readonly told?: string
  /** What was refused meanwhile says nothing any more. */
  readonly onChosen: () => void
}) {
  if (!draft.isStale) return null
  const chosen = (choose: () => void) => () => {
    choose()
    onChosen()
  }
  return (
    <StaleChoice told={told} onKeep={chosen(draft.keep)} onDrop={chosen(draft.drop)}>
      <p>
        {t('stale.theirs')} <strong>{text(draft.theirs) || t('stale.nothing')}</strong>
        <br />
        {t('stale.mine')} <strong>{text(draft.value) || t('stale.nothing')}</strong>
      </p>
    </StaleChoice>
  )
}
