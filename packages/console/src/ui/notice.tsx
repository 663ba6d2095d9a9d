import type { Problem } from '@steeple/client'
import type { ComponentChildren } from 'preact'
import { t } from '../text/index.ts'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import type { Tone } from './lamp.tsx'
import { Said } from './said.tsx'

/** Something to know, beside what it is about. */
export function Notice({
  tone = 'none',
  children,
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}) {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  )
}

/** An error of the API in its own words, each broken rule, and the request id to find it in the log. */
export function ErrorNotice({ error, onRetry }: { readonly error: Problem; readonly onRetry?: () => void }) {
  const isStale = error.status === 412
  return (
    <Notice tone="bad">
      <p>{isStale ? t('error.stale') : <Said>{error.message}</Said>}</p>
      {error.details.length === 0 ? null : (
        <ul>
          {error.details.map(({ pointer, message }) => (
            <li key={pointer + message} lang="en">
              {message.startsWith(pointer) ? message : `${pointer} ${message}`}
            </li>
          ))}
        </ul>
      )}
      <p class="fine">
        <code>{error.code}</code>
        {error.requestId === undefined ? null : (
          <>
            {' '}
            {t('ui.requestId', { id: error.requestId })}{' '}
            <Copy text={error.requestId} label={t('ui.copyRequestId')} />
          </>
        )}
      </p>
      {onRetry === undefined ? null : <Button onClick={onRetry}>{t('ui.retry')}</Button>}
    </Notice>
  )
}
