export type { CommonCode, Operations, RawBody } from './api.ts'
export type { ClientOptions, Token, Transport, TransportAnswer, TransportRequest } from './client-options.ts'
export type { Change, FollowOptions, Gap, StreamState } from './create-client.ts'
export { type Call, type CallArguments, type Client, createClient } from './create-client.ts'
export { dataOf } from './problem.ts'
export type {
  AnswerOf,
  CallOptions,
  ClientCode,
  CodeOf,
  Failure,
  ItemOf,
  Method,
  PagedPath,
  PathOf,
  Problem,
  RequestOf,
  Result,
  Success,
} from './types.ts'
