import type { Problem } from '@steeple/client'
import type { ComponentChildren } from 'preact'
import type { Query } from '../api/use-query.ts'
import { named, t, word } from '../text/index.ts'
import { Button } from './button.tsx'
import { refusalText } from './complaint.ts'
import { Copy } from './copy.tsx'
import { useFields } from './form-problem.ts'
import { Progress, Said, Shape, type Tone } from './parts.tsx'

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
      {tone === 'none' ? null : <Shape tone={tone} />}
      <div>{children}</div>
    </div>
  )
}

/** Of these the sentence says all: what the service adds is for programs. */
const SAID_WHOLE: readonly string[] = ['unauthenticated', 'login_failed', 'token_expired']

/** No answer came: of a change nobody knows whether it was made. */
const LOST: readonly string[] = ['connection_lost', 'no_answer_in_time']

/**
 * An error of the API: what its code means in the reader's language, the API's own words, each broken rule, and the request id to find
 * it in the log. Of a code that is not known the API's words say all. Of values that are refused the field's label and words say all.
 */
export function ErrorNotice({
  error,
  onRetry,
}: {
  /** Undefined: nothing is wrong, and nothing is said. */
  readonly error: Problem | undefined
  readonly onRetry?: () => void
}) {
  const fieldOf = useFields()
  if (error === undefined) return null
  const refusals = error.details.map((detail) => {
    const { label, value } = fieldOf(detail.pointer)
    return { label, text: refusalText(detail, value) }
  })
  if (refusals.length > 0 && refusals.every(({ text }) => text !== undefined))
    return (
      <Notice tone="bad">
        <p>{t('problem.validation_failed')}</p>
        <ul>
          {refusals.map(({ label, text }) => (
            <li key={label}>{named(label, text ?? '')}</li>
          ))}
        </ul>
      </Notice>
    )
  // What was only read changed nothing.
  const code = onRetry !== undefined && LOST.includes(error.code) ? `${error.code}.read` : error.code
  const sentence = error.status === 412 ? t('error.stale') : word('problem', code)
  const isKnown = sentence !== code
  return (
    <Notice tone="bad">
      {isKnown ? <p>{sentence}</p> : null}
      {SAID_WHOLE.includes(error.code) ? null : (
        <p {...(isKnown ? { class: 'fine' } : {})}>
          <Said>{error.message}</Said>
        </p>
      )}
      {error.details.length === 0 ? null : (
        <ul>
          {error.details.map(({ pointer, message }) => (
            <li key={pointer + message}>
              <Said>{message.startsWith(pointer) ? message : `${pointer} ${message}`}</Said>
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
      {onRetry === undefined ? null : (
        <Button icon="refresh-cw" onClick={onRetry}>
          {t('ui.retry')}
        </Button>
      )}
    </Notice>
  )
}

/** What a read gave: that it runs, why it failed (above what was known before), and what `children` make of it. */
export function Loaded<Data>({
  query,
  children,
}: {
  readonly query: Pick<Query<Data>, 'data' | 'error' | 'isLoading' | 'reload'>
  readonly children: (data: Data) => ComponentChildren
}) {
  const { data, error, isLoading, reload } = query
  return (
    <>
      <ErrorNotice error={error} onRetry={reload} />
      {isLoading ? <Progress label={t('app.loading')} /> : null}
      {data === undefined ? null : children(data)}
    </>
  )
}
